/** An update that the graph's channels do not take is refused where the node is added. Type-checked, never run. */
import { z } from 'zod';
import { AgentGraph, functionNode, outcome, workflow } from '../../../src/index.ts';

interface Mood {
  readonly name: 'happy' | 'sad';
}
const channels = z.object({
  n: z.number(),
  list: z.array(z.string()),
  part: z.object({ a: z.number(), b: z.number() }),
  mood: z.custom<Mood>(),
  log: z.array(z.string()),
});
const schemas = { scratch: channels, artifacts: z.object({ report: z.string() }) };

const count = { name: 'count', reduce: (current: unknown) => current } as const;
const graph = new AgentGraph(schemas, {
  reducers: { 'scratch.list': 'append', 'scratch.part': 'merge', 'scratch.log': count },
});

// What a channel holds; of one with a reducer also an item or a part, and of one with an author's own, anything.
graph.addNode('all', () => outcome({ scratch: { n: 1, list: ['a'], part: { a: 1, b: 2 }, mood: { name: 'sad' } } }));
graph.addNode('part', async () =>
  outcome({ scratch: { list: 'a', part: { a: 1 }, log: 7 }, artifacts: { report: '' } }),
);
graph.addNode('diagnostics', () => outcome({ diagnostics: { anything: 1 } }));

// @ts-expect-error n is a number
graph.addNode('a', () => outcome({ scratch: { n: 'WRONG' } }));
// @ts-expect-error also from an async function
graph.addNode('b', async () => outcome({ scratch: { n: 'WRONG' } }));
// @ts-expect-error also in one branch of several
graph.addNode('c', ({ visit }) => (visit > 1 ? 'fine' : outcome({ scratch: { n: 'WRONG' } })));
// @ts-expect-error also from a builder
graph.addNode('d', functionNode(() => outcome({ scratch: { n: 'WRONG' } }))); // prettier-ignore
// @ts-expect-error no such channel
graph.addNode('e', () => outcome({ scratch: { nn: 1 } }));
// @ts-expect-error not the only one
graph.addNode('f', () => outcome({ scratch: { n: 1, nn: 1 } }));
// @ts-expect-error no such item
graph.addNode('g', () => outcome({ scratch: { list: 3 } }));
// @ts-expect-error a part is of its type
graph.addNode('h', () => outcome({ scratch: { part: { a: 'x' } } }));
// @ts-expect-error none of its values
graph.addNode('i', () => outcome({ scratch: { mood: { name: 'sadd' } } }));
// @ts-expect-error artifacts too
graph.addNode('j', () => outcome({ artifacts: { report: 1 } }));
// @ts-expect-error no such partition
outcome({ scrtch: {} });

const flow = workflow('flow', { scratch: z.object({ n: z.number() }) });
flow.step('a', () => outcome({ scratch: { n: 1 } }));
// @ts-expect-error n is a number
flow.step('a', () => outcome({ scratch: { n: 'WRONG' } }));
