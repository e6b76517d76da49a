/** Answers the agent's question, and lets it come to its end; what a process does that is started for this alone. */
import { openAgent, runId } from './paused-agent.mjs';

const [, , folder, waitId] = process.argv;
const { graph } = openAgent(folder);
const { status } = await graph.resume(runId, { answers: { [waitId]: 'yes' } });
process.exit(status === 'completed' ? 0 : 1);
