/** Prints what 100 runs of 10 write nodes take on Postgres in a fresh process, in ms: `node postgres-runs.mjs URL RUNS NODES`. */
import { AgentGraph, END, START } from '../../dist/index.js';

const [url, ...numbers] = process.argv.slice(2);
const [runs, nodes] = numbers.map(Number);
const text = 'a step of the run writes some words '.repeat(28).slice(0, 990);
const graph = new AgentGraph({}, { id: 'chain', checkpointPolicy: 'every_node' });
for (let index = 0; index < nodes; index += 1) {
  graph.addNode(`n${index}`, () => ({ index, text }), { effectClass: 'write' });
  graph.addEdge(index === 0 ? START : `n${index - 1}`, `n${index}`);
}
const compiled = graph.addEdge(`n${nodes - 1}`, END).compile({ store: url });
// The others have connected, too, when their time begins.
await compiled.engine.ports.store.readIdentity();
const startMs = performance.now();
const results = await Promise.all(Array.from({ length: runs }, () => compiled.invoke({})));
const tookMs = performance.now() - startMs;
if (results.some(({ status }) => status !== 'completed')) throw new Error('a run did not complete');
console.log(JSON.stringify({ tookMs }));
process.exit(0);
