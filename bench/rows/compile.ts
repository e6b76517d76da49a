/** Ten times the nodes take ten times as long to compile. */
import { AgentGraph, END, START } from '../../src/index.ts';
import type { Group } from '../group.ts';
import { median } from '../median.ts';

const small = 2_000;
const large = 20_000;
const name = 'build and compile a 20,000-node chain, per node';

/** Microseconds a node. */
function timeCompile(count: number): number {
  const startMs = performance.now();
  const graph: AgentGraph = new AgentGraph({}, { id: 'chain' });
  let before: string = START;
  for (let index = 0; index < count; index += 1) {
    const id = `n${index}`;
    graph.addNode(id, () => index).addEdge(before, id);
    before = id;
  }
  graph.addEdge(before, END).compile();
  return ((performance.now() - startMs) * 1000) / count;
}

export const compile: Group = {
  rows: [{ name, against: 'a 2,000-node chain, per node', target: 1.2 }],
  prepare: () => ({
    repeat: () => {
      const floor = median(Array.from({ length: large / small }, () => timeCompile(small)));
      return { [name]: { ours: timeCompile(large), floor, unit: 'us' } };
    },
  }),
};
