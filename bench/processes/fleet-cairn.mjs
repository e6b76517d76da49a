/** `node fleet-cairn.mjs STORE RUNS` starts runs of ten steps and leaves them to workers, which load this file as a module. */
import { AgentGraph, END, START } from 'cairn-workflows';

const text = 'a step of the run writes some words '.repeat(28).slice(0, 990);
const graph = new AgentGraph({}, { id: 'measured', checkpointPolicy: 'every_node' });
for (let index = 0; index < 10; index += 1) {
  graph.addNode(`s${index}`, () => ({ index, text }), { effectClass: 'write' });
  graph.addEdge(index === 0 ? START : `s${index - 1}`, `s${index}`);
}
const [, program, store, runs] = process.argv;
const isProgram = program === import.meta.filename;
export const measured = graph.addEdge('s9', END).compile(isProgram ? { store, wakes: false } : {});

if (isProgram) {
  const startAll = async (from) => {
    for (let index = from; index < Number(runs); index += 8)
      await measured.start({}, { runId: `run-${index}`, detach: true });
  };
  await Promise.all(Array.from({ length: 8 }, (_, from) => startAll(from)));
  await measured.close();
}
