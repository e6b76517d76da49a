/** `cairn check` as a process: its forms and its exit codes; what a preview says of a changed file. */
import { expect, test, vi } from 'vitest';
import { openFolder } from '../../test/cli/cairn.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const flow = ({ price = 'price', question = 'Pay?', asks = true } = {}): string => `name: refund
blocks:
  - { id: ${price}, type: EchoBlock, inputs: { message: "40" } }
${asks ? `  - { id: approve, type: AskChoice, depends_on: [${price}], inputs: { question: "${question} <now> | \\"40\\" & more", choices: ['yes', 'no'] } }\n` : ''}  - { id: pay, type: EchoBlock, depends_on: [${asks ? 'approve' : price}], inputs: { message: "paid" } }
`;

const folder = openFolder();
folder.write('refund.yaml', flow());
for (const id of ['r1', 'r2']) folder.cairn('run', 'refund.yaml', '--run-id', id);
folder.write('asks.yaml', flow({ question: 'Pay it?' }));
folder.write('price.yaml', flow({ price: 'quote' }));
folder.write('passes.yaml', flow({ asks: false }));

test('X5.4 a check fails by what it is told to, and says the same as a table, in JSON, in Markdown and as JUnit', () => {
  const passes = folder.cairn('check', '--file', 'asks.yaml');
  expect([passes.code, passes.out]).toEqual([
    0,
    expect.stringMatching(/^RUNS +WOULD +GRAPH +FOR INSTANCE\n +2 +asks +refund +r2/u),
  ]);
  const fails = folder.cairn('check', '--file', 'asks.yaml', '--fail-on', 'bricks,asks', '--json');
  expect([fails.code, JSON.parse(fails.out)]).toEqual([
    1,
    expect.objectContaining({ count: 2, verdicts: { asks: 2 }, isFailing: true, others: 0, leftOut: 0 }),
  ]);
  const markdown = folder.cairn('check', '--file', 'asks.yaml', '--markdown').out;
  expect(markdown).toMatch(/^\*\*2 open runs: 2 asks\. The check passes\.\*\*\n\n\| runs \|/u);
  const junit = folder.cairn('check', '--file', 'asks.yaml', '--fail-on', 'asks', '--junit').out;
  expect(junit).toContain('<testsuite name="cairn check" tests="1" failures="1">');
  expect(junit).toContain(
    '<testcase classname="refund" name="2 runs asks, r2"><failure message="approve: its question',
  );
  expect(folder.cairn('check', '--file', 'asks.yaml', '--fail-on', 'all').err).toContain('USAGE_INVALID');
  expect(folder.cairn('check', '--file', 'asks.yaml', '--junit', '--markdown').err).toContain(
    'two forms of one report',
  );
});

test('X5.4 a question that is removed while it waits fails a check that is told to fail on what asks, and one on what is lost', () => {
  for (const kind of ['asks', 'loses'])
    expect(folder.cairn('check', '--file', 'passes.yaml', '--fail-on', kind).code).toBe(1);
  const { out } = folder.cairn('check', '--file', 'passes.yaml');
  expect(out).toContain('approve: removed while it waits: the run goes on without an answer');
  expect(folder.cairn('check', '--file', 'price.yaml').out.replaceAll(/\s+/gu, ' ')).toContain(
    'price: removed: its output stays on record, and nobody reads it; quote is the same under another name: say so (renamed; renamed_from in YAML and DOT)',
  );
});

test('X5.4 a preview of a resume under a file says what is removed, added and asked anew, and why', () => {
  const { rows, findings } = folder.json('preview', 'r1', '--file', 'price.yaml') as {
    readonly rows: readonly { readonly node: readonly string[]; readonly prediction: string }[];
    readonly findings: readonly { readonly kind: string; readonly node: string; readonly why: string }[];
  };
  expect(rows.map(({ node, prediction }) => `${node.join('/')} ${prediction}`)).toContain('approve asks');
  expect(findings.map(({ kind, node, why }) => `${kind} ${node}: ${why}`)).toEqual([
    'loses price: removed: its output stays on record, and nobody reads it; quote is the same under another name: say so (renamed; renamed_from in YAML and DOT)',
    'differs quote: added, and skipped: the run is past it',
  ]);
  const { out } = folder.cairn('preview', 'r1', '--file', 'passes.yaml');
  expect(out).toContain('loses: approve: removed while it waits');
  expect(folder.json('preview', 'r1')).not.toHaveProperty('findings');
});

test('X5.4 a preview of a resume under a module of the configuration says what has changed in it since', () => {
  const own = openFolder();
  const library = new URL('../index.ts', import.meta.url).href;
  const module = (
    ...nodes: readonly string[]
  ): string => `import { AgentGraph, END, humanNode, START } from '${library}';
const work = { price: () => 40, ask: humanNode({ prompt: 'Pay?' }) };
const graph = new AgentGraph({}, { id: 'paying' });
for (const [index, id] of ${JSON.stringify(nodes)}.entries())
  graph.addNode(id, work[id]).addEdge(${JSON.stringify(['START', ...nodes])}[index].replace('START', START), id);
export const paying = graph.addEdge('ask', END).compile();
`;
  own.write('cairn.config.json', '{ "modules": ["paying.ts"] }');
  own.write('paying.ts', module('price', 'ask'));
  own.cairn('run', 'paying.ts', '--run-id', 'm');
  expect(own.json('preview', 'm')).not.toHaveProperty('findings');
  own.write('paying.ts', module('ask'));
  expect(own.json('preview', 'm')).toMatchObject({ findings: [{ kind: 'loses', node: 'price' }] });
});

test('X5.4 a run whose file has its graph no more bricks under that file, and is named as one of another graph under others', () => {
  const own = openFolder();
  const library = new URL('../index.ts', import.meta.url).href;
  const module = (id: string): string => `import { AgentGraph, END, humanNode, START } from '${library}';
export const graph = new AgentGraph({}, { id: '${id}' })
  .addNode('ask', humanNode({ prompt: 'Pay?' }))
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();
`;
  own.write('pay.ts', module('pay'));
  own.cairn('run', 'pay.ts', '--run-id', 'r');
  own.write('pay.ts', module('payment'));
  own.write('other.ts', module('other'));
  const gone = own.cairn('check', '--file', 'pay.ts');
  expect([gone.code, gone.out]).toEqual([1, expect.stringContaining('pay.ts has no graph pay any more')]);
  const other = own.cairn('check', '--file', 'other.ts');
  expect([other.code, other.err]).toEqual([0, expect.stringContaining('1 run of other graphs not checked: pay (1)')]);
});
