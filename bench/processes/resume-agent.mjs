/** Answers the agent's question, and lets it come to its end; what a process does that is started for this alone. */
import { readFileSync } from 'node:fs';
import { openAgent, runId } from './paused-agent.mjs';

const folder = process.argv[2];
const { graph } = openAgent(folder);
const { status } = await graph.resume(runId, { answers: { [readFileSync(`${folder}/wait`, 'utf8')]: 'yes' } });
process.exit(status === 'completed' ? 0 : 1);
