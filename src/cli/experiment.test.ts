/** `cairn experiment` and `cairn dataset`: files as data and as modules, thresholds and exit codes, reports. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openFolder } from '../../test/cli/cairn.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 900_000 });

const flow = (message: string): string => `name: desk
inputs: { name: { type: str }, password: { type: str, default: hunter22 } }
blocks:
  - { id: letter, type: EchoBlock, inputs: { message: "${message} \${inputs.name}" } }
`;

const folder = openFolder();
folder.write('desk.yaml', flow('Dear'));
folder.write('desk2.yaml', flow('Hi'));
for (const name of ['ann', 'bob'])
  folder.cairn('run', 'desk.yaml', '--run-id', name, '--label', `name=${name}`, '--input', `name=${name}`);

const letters = {
  name: 'letters',
  workflow: 'desk.yaml',
  dataset: 'gold',
  arms: { short: { workflow: 'desk2.yaml' }, same: null },
  output: 'outputs.letter',
};
folder.write('letters.yaml', JSON.stringify(letters));

test('EX10 a dataset is made, listed, exported for tests, and removed', () => {
  const added = folder.json('dataset', 'add', 'gold', '--graph', 'desk') as { datasets: readonly { runs: string[] }[] };
  expect(added.datasets[0]?.runs.toSorted()).toEqual(['ann', 'bob']);
  expect(folder.cairn('dataset').out).toMatch(/^DATASET +RUNS +INPUTS +CHANGED\ngold +2 +0 /u);
  expect(folder.cairn('dataset', 'show', 'gold').out).toContain('\nann\nbob\n');
  expect(folder.cairn('dataset', 'show', 'silver')).toMatchObject({
    code: 3,
    err: expect.stringContaining('There are: gold'),
  });
  expect(folder.cairn('dataset', 'add', 'gold').err).toContain('there is nothing to add');
  folder.cairn('dataset', 'export', 'gold', 'fixtures', '--fixture', '--mask', 'name');
  const files = readdirSync(join(folder.path, 'fixtures'));
  expect(files).toEqual(['ann.jsonl', 'bob.jsonl']);
  expect(readFileSync(join(folder.path, 'fixtures', 'ann.jsonl'), 'utf8')).not.toContain('hunter22');
  expect(folder.cairn('import', 'fixtures/ann.jsonl', '--run-id', 'copy').code).toBe(0);
  expect(folder.cairn('rm', 'copy', '--yes').code).toBe(0);
});

test('EX10 an experiment in YAML says what its arms would have done, and ends by its thresholds', () => {
  const ran = folder.cairn('experiment', 'run', 'letters.yaml');
  expect([ran.code, ran.err]).toEqual([0, '']);
  expect(ran.out).toMatch(/^EXPERIMENT.*\nletters +baseline +2 equal *\n +short +2 different.*\n +same +2 equal/u);
  const failing = folder.cairn('experiment', 'run', 'letters.yaml', '--min-equal', '0.95', '--json');
  expect([failing.code, JSON.parse(failing.out)]).toEqual([
    1,
    expect.objectContaining({ isFailing: true, missed: ['short: 0.000 equal, and not 0.95'], items: 2 }),
  ]);
  const junit = folder.cairn('experiment', 'run', 'letters.yaml', '--fail-on', 'different,would-act', '--junit');
  expect([junit.code, junit.out]).toEqual([1, expect.stringContaining('tests="2" failures="1"')]);
  expect(junit.out).toContain('<failure message="short: 2 different"/>');
  const markdown = folder.cairn('experiment', 'run', 'letters.yaml', '--markdown');
  expect([markdown.code, markdown.out]).toEqual([
    0,
    expect.stringMatching(/^\*\*letters: 2 items\. No threshold is missed\*\*\n\n\| arm \|/u),
  ]);
  for (const wrong of [
    ['--fail-on', 'worse'],
    ['--min-equal', '2'],
    ['--junit', '--markdown'],
  ])
    expect(folder.cairn('experiment', 'run', 'letters.yaml', ...wrong).code).toBe(2);
});

test('EX10 a part of the state that no run has, and an experiment that is not there, are refused with what there is', () => {
  folder.write('wrong.yaml', JSON.stringify({ ...letters, name: 'wrong', output: 'outputs.lettr' }));
  expect(folder.cairn('experiment', 'run', 'wrong.yaml')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/outputs\.lettr is no part of the state.*\n.*Did you mean letter\?/u),
  });
  expect(folder.cairn('experiment', 'show', 'wrong')).toMatchObject({
    code: 3,
    err: expect.stringContaining('There are: letters.'),
  });
});

test('EX10 pairs are shown in the order that is asked for', () => {
  const pairsBy = (...order: readonly string[]): readonly string[] => {
    const shown = folder.json('experiment', 'show', 'letters', '--verdict', 'equal,different', ...order);
    const { pairs } = shown as { readonly pairs: readonly { item: string; arm: string }[] };
    return pairs.map(({ item, arm }) => `${item} ${arm}`);
  };
  const byItem = pairsBy();
  expect(byItem.map((pair) => pair.split(' ')[1])).toEqual(['short', 'same', 'short', 'same']);
  // Nothing was bought, so that none is dearer.
  for (const order of ['item', 'cost']) expect(pairsBy('--order', order)).toEqual(byItem);
  expect(pairsBy('--order', 'verdict')).toEqual([byItem[1], byItem[3], byItem[0], byItem[2]]);
  expect(folder.cairn('experiment', 'show', 'letters', '--order', 'price').err).toContain('item, cost, verdict');
});

test('EX10 a module that exports an experiment is run by its command alone, and compared with the one before', () => {
  const library = join(import.meta.dirname, '../index.ts');
  folder.write(
    'letters.mjs',
    `import { AgentGraph, END, START } from ${JSON.stringify(library)};
console.error('ran');
const graph = new AgentGraph({}, { id: 'desk' })
  .addNode('letter', ({ state }) => ({ response: 'Dear ' + state.input.name }), { effectClass: 'pure' })
  .addEdge(START, 'letter').addEdge('letter', END).toGraph();
export const experiment = { graph, name: 'letters2', dataset: 'gold', arms: { short: {} },
  output: ({ outputs }) => outputs.letter.response, failOn: ['different'] };
`,
  );
  const ran = folder.cairn('experiment', 'run', 'letters.mjs');
  expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('ran')]);
  expect(folder.cairn('experiment', 'show', 'letters2').err).not.toContain('ran');
  const compared = folder.cairn('experiment', 'compare', 'letters', 'letters2').out;
  expect(compared).toMatch(/ann +short +different +equal/u);
});

test('EX5 the name of a removed experiment is free', () => {
  expect(folder.cairn('experiment', 'rm', 'letters').out).toMatch(/^removed letters, 7 runs/u);
  expect(folder.cairn('experiment', 'show', 'letters').code).toBe(3);
  folder.write('letters.yaml', JSON.stringify({ ...letters, arms: { same: {} } }));
  expect(folder.cairn('experiment', 'run', 'letters.yaml', '--min-equal', '1').code).toBe(0);
  expect(folder.cairn('ls').out).not.toContain('cairn:');
});

test('X7.2 of a fork that would act the command says that this is as far as it goes', () => {
  folder.write('shell.yaml', 'name: sh\nblocks: [{ id: a, type: Shell, inputs: { command: "true" } }]\n');
  folder.write('shell2.yaml', 'name: sh\nblocks: [{ id: a, type: Shell, inputs: { command: "echo" } }]\n');
  folder.cairn('run', 'shell.yaml', '--run-id', 'sh');
  const { out } = folder.cairn('fork', 'sh@0', '--no-effects', '--file', 'shell2.yaml', '--run');
  expect(out).toContain('That is as far as it goes without acting.');
  expect(out).not.toContain('when it is time');
});
