/** Whether checks of YAML files take time in proportion to their size: ten times the size may cost twelve times the time. */
import type { Group, Sample } from '../group.ts';
import { makeList } from '../payload.ts';

const head = 'name: w\ndescription: d\n';
const only = 'blocks: [{ id: a, type: EchoBlock, inputs: { message: x } }]\n';
const lines = (count: number, line: (index: number) => string): string => makeList(count, line).join('');
const blocks = (count: number, rest: (index: number) => string): string =>
  `${head}blocks:\n${lines(count, (index) => `  - { id: b${index}, type: EchoBlock, inputs: { message: x }${rest(index)} }\n`)}`;

/** Texts that grow in one way, by what they are called; most are faulty everywhere. */
export const growingFiles: Readonly<Record<string, (count: number) => string>> = {
  'keys of a mapping': (count) =>
    `${head}blocks:\n  - id: a\n    type: EchoBlock\n    inputs:\n      message: { ${lines(count, (index) => `k${index}: 1, `)} }\n`,
  'unknown fields': (count) => `${head}${only}${lines(count, (index) => `k${index}: 1\n`)}`,
  'unknown names in texts': (count) =>
    `${head}inputs: { x: {} }\n${only}outputs:\n${lines(count, (index) => `  k${index}: "\${zz${index}}"\n`)}`,
  'inputs with bad defaults': (count) =>
    `${head}inputs:\n${lines(count, (index) => `  k${index}: { type: int, default: x }\n`)}${only}`,
  blocks: (count) => blocks(count, () => ''),
  'unknown dependencies': (count) => blocks(count, (index) => `, depends_on: [zz${index}]`),
  'undeclared secrets': (count) =>
    `${head}secrets: [${lines(count, (index) => `k${index}, `)}]\n${only}outputs:\n${lines(count, (index) => `  k${index}: "\${secrets.x${index}}"\n`)}`,
  tags: (count) => `a: ${'! '.repeat(count * 10)}x\n`,
};

const count = 1_000;
const nameOf = (what: string): string => `check of a YAML file, ${what}: 10 times the size`;

export const largeFiles: Group = {
  rows: Object.keys(growingFiles).map((what) => ({ name: nameOf(what), against: 'the smaller file', target: 12 })),
  warmUps: 3,
  prepare: async () => {
    const [{ checkWorkflow }, { createNodeTypes }] = await Promise.all([
      import('../../src/dialects/yaml/index.ts'),
      import('../../src/nodes/blocks/index.ts'),
    ]);
    const options = { nodeTypes: createNodeTypes({}) };
    const cpuMs = (text: string): number => {
      const before = process.cpuUsage();
      checkWorkflow(text, options);
      return process.cpuUsage(before).user / 1_000;
    };
    const sampleOf = (make: (count: number) => string): Sample => ({
      floor: cpuMs(make(count)),
      ours: cpuMs(make(count * 10)),
      unit: 'ms',
    });
    return {
      repeat: () =>
        Object.fromEntries(Object.entries(growingFiles).map(([what, make]) => [nameOf(what), sampleOf(make)])),
    };
  },
};
