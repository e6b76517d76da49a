/** What the YAML dialect costs: reading a large file, and a block beside the same node of a TypeScript graph. */
import type { NodeType } from '../../src/graph/contracts/node-type.ts';
import { AgentGraph, END, START, type Graph } from '../../src/index.ts';
import type { Group } from '../group.ts';
import { millis } from '../millis.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { timePerNode } from '../time-run.ts';

const count = 1_000;
const load = '1,000-block YAML file: parse, validate, plan';
const block = 'a YAML block, NORMAL, per node';

const outputs = makeList(count, outputOfKib);

/** Gives an output that was made beforehand; what it is handed is the end of the block before. */
const work = (index: number, before: unknown): object => ({ ...outputs[index], before });

const workType: NodeType = {
  name: 'Work',
  description: 'Gives a ready output.',
  inputs: {
    index: { schema: { type: 'integer' }, description: 'Which.', isRequired: true },
    before: { schema: {}, description: 'What the block before it gave.' },
  },
  outputs: {},
  effect: 'pure',
  run: ({ inputs }) => work(inputs['index'] as number, inputs['before']),
};

function chainText(): string {
  const blocks = makeList(count, (index) =>
    index === 0
      ? `  - id: b0\n    type: Work\n    inputs: { index: 0 }`
      : `  - id: b${index}\n    type: Work\n    depends_on: [b${index - 1}]\n    inputs:\n      index: ${index}\n      before: "\${b${index - 1}.index}"`,
  );
  return `name: chain\nblocks:\n${blocks.join('\n')}\noutputs:\n  last: "\${b${count - 1}.index}"\n`;
}

/** As a person writes: conditions, commands, texts with references, several dependencies. */
function fileText(): string {
  const blocks = makeList(count, (index) => {
    const before = index < 2 ? '[]' : `[b${index - 1}, { block: b${index - 2}, required: false }]`;
    const reference = index < 2 ? '${topic}' : `\${b${index - 1}.stdout}`;
    return `  - id: b${index}
    type: Shell
    description: Step ${index} of many.
    depends_on: ${before}
    ${index < 2 ? '' : `condition: "\${blocks.b${index - 1}.succeeded} and \${b${index - 1}.exit_code} == 0"`}
    timeout: 30s
    inputs:
      command: echo "${reference}" | grep -c '${reference}' > out-${index}.txt
      env: { STEP: "${index}" }`;
  });
  return `name: large\ninputs: { topic: { type: str, default: stones } }\nblocks:\n${blocks.join('\n')}\noutputs:\n  last: "\${b${count - 1}.stdout}"\n`;
}

function chainInTypeScript(): Graph {
  const graph: AgentGraph = new AgentGraph({}, { id: 'chain', checkpointPolicy: 'every_node' });
  for (let index = 0; index < count; index += 1) {
    const before = `b${index - 1}`;
    graph.addNode(`b${index}`, ({ state }) =>
      work(index, index === 0 ? undefined : (state.outputs[before] as { readonly index: unknown }).index),
    );
    graph.addEdge(index === 0 ? START : before, `b${index}`);
  }
  return graph.addEdge(`b${count - 1}`, END).compile().graph;
}

export const yaml: Group = {
  rows: [
    { name: load, against: 'parsing its YAML alone', target: 10 },
    { name: block, against: 'the same node in a TypeScript graph', target: 1.2 },
  ],
  warmUps: 5,
  prepare: async (folder) => {
    // Loaded here, so that the rows of others measure processes without it.
    const [{ parseDocument }, { readWorkflow }, { createNodeTypes }] = await Promise.all([
      import('yaml'),
      import('../../src/dialects/yaml/index.ts'),
      import('../../src/nodes/blocks/index.ts'),
    ]);
    const nodeTypes = [...createNodeTypes({}), workType];
    const file = fileText();
    const chain = readWorkflow(chainText(), { nodeTypes }).graph;
    const typescript = chainInTypeScript();
    return {
      repeat: async () => {
        const floor = millis(() => parseDocument(file).toJS());
        const ours = millis(() => readWorkflow(file, { nodeTypes }).waves);
        return {
          [load]: { ours, floor, unit: 'ms' },
          [block]: {
            floor: await timePerNode(typescript, folder, count),
            ours: await timePerNode(chain, folder, count),
            unit: 'us',
          },
        };
      },
    };
  },
};
