/** Answers the question and runs to the end; what a process does that is started for this alone. */
import { openLoop, runId } from './paused-loop.mjs';

const { graph } = openLoop(process.argv[2]);
const { status } = await graph.resume(runId, { answers: { ask: 'yes' } });
// The result is durable: nothing is gained by waiting for anything else.
process.exit(status === 'completed' ? 0 : 1);
