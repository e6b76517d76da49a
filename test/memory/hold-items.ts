/** Prints, for each kind of item, how many bytes of heap an item of a running list keeps when it has ended. With `--expose-gc`, and how many items. */
import { AgentGraph, END, mapNode, START } from '../../src/index.ts';
import type { NodeDraft } from '../../src/graph/node-draft.ts';
import type { NodeType } from '../../src/graph/contracts/node-type.ts';
import { yamlBench } from '../yaml-bench.ts';

declare const gc: () => void;

const count = Number(process.argv[2]);
/** What was in use when each item began that is looked at: the first half makes what all share. */
let begun = 0;
let heldBytes: number[] = [];

function begin(): void {
  begun += 1;
  if (begun !== count / 2 && begun !== count - 10) return;
  gc();
  gc();
  heldBytes.push(process.memoryUsage().heapUsed);
}

const value = { schema: {}, description: 'A value.' };
const block: NodeType = {
  name: 'Give',
  description: 'Gives its input.',
  inputs: { value },
  outputs: { value },
  effect: 'pure',
  run: ({ inputs }) => {
    begin();
    return { value: inputs['value'] };
  },
};
const bench = yamlBench([block]);
const inner = new AgentGraph({}, { id: 'inner' })
  .addNode('n', ({ input }) => {
    begin();
    return input;
  })
  .addEdge(START, 'n')
  .addEdge('n', END);
const over = (): readonly number[] => Array.from({ length: count }, (_, index) => index);
const mapped = (node: NodeDraft) =>
  new AgentGraph({}, { id: 'mapped' }).addNode('m', node).addEdge(START, 'm').addEdge('m', END).toGraph();
const listed = (work: string) =>
  bench.read(
    `name: listed\nblocks:\n  - { id: m, type: ${work}, for_each: '\${range(${count})}', for_each_mode: parallel }\n`,
    {
      one: `name: one\ninputs: { value: { type: num } }\nblocks:\n  - { id: n, type: Give, inputs: { value: '\${value}' } }\noutputs: { value: '\${n.value}' }\n`,
    },
  ).graph;

const kinds = {
  function: mapped(mapNode({ over, each: ({ item }) => (begin(), item) })),
  graph: mapped(mapNode({ over, each: inner })),
  block: listed("Give, inputs: { value: '${each.value}' }"),
  workflow: listed("Workflow, inputs: { workflow: one, inputs: { value: '${each.value}' } }"),
};
const found: Record<string, number> = {};
for (const [kind, graph] of Object.entries(kinds)) {
  [begun, heldBytes] = [0, []];
  const run = await bench.engine.start(graph, {});
  const { status } = await run.result();
  if (status !== 'completed') throw new Error(`${kind}: ${status}`);
  const [half = 0, whole = 0] = heldBytes;
  found[kind] = Math.round((whole - half) / (count / 2 - 10));
}
console.log(JSON.stringify(found));
process.exit();
