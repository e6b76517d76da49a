/** A workflow of ten trivial nodes. As a program, `node worker-graph.mjs STORE RUNS`, it starts runs of it and leaves them to a worker. */
import { AgentGraph, END, START } from 'cairn-workflows';

const graph = new AgentGraph({}, { id: 'trivial', checkpointPolicy: 'every_node' });
for (let index = 0; index < 10; index += 1) {
  graph.addNode(`n${index}`, () => ({ index }), { effectClass: 'write' });
  graph.addEdge(index === 0 ? START : `n${index - 1}`, `n${index}`);
}
const [, program, store, runs] = process.argv;
const isProgram = program === import.meta.filename;
export const trivial = graph.addEdge('n9', END).compile(isProgram ? { store, wakes: false } : {});

if (isProgram) {
  for (let index = 0; index < Number(runs); index += 1)
    await trivial.start({}, { runId: `run-${index}`, detach: true });
  await trivial.close();
}
