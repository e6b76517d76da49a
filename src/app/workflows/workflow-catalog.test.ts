/** The workflows of folders. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import { thrown } from '../../../test/support/thrown.ts';
import { openCatalog, type WorkflowCatalog } from './workflow-catalog.ts';
import { loadFileDialects } from './file-dialects.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'cairn-catalog-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const workflow = (name: string, message = name): string =>
  `name: ${name}\nblocks:\n  - id: say\n    type: EchoBlock\n    inputs: { message: "${message}" }\n`;

async function open(...folders: readonly string[]): Promise<WorkflowCatalog> {
  const dialect = await loadFileDialects({ file: undefined }, []);
  return openCatalog({ dialect, folders: folders.map((folder) => join(root, folder)), cwd: root });
}

test('D9 files are found at any depth, later folders override earlier ones, by the names of workflows', async () => {
  write('a/deep/er/one.yaml', workflow('one'));
  write('a/two.yml', workflow('two'));
  write('a/notes.txt', 'name: no');
  write('b/other-name.yaml', workflow('two', 'of b'));
  const catalog = await open('a', 'b');
  expect(catalog.list().map(({ workflow: { name }, source }) => [name, source])).toEqual([
    ['one', 'a/deep/er/one.yaml'],
    ['two', 'b/other-name.yaml'],
  ]);
  expect((await open('b', 'a')).get('two').source).toBe('a/two.yml');
});

test('D10 a file that is no workflow is listed with its faults and stops no other', async () => {
  write('a/good.yaml', workflow('good'));
  write('a/bad.yaml', 'name: bad\nblocks:\n  - id: x\n    type: Nope\n');
  write('a/nameless.yaml', 'blocks: []\n');
  write('a/second.yaml', workflow('good'));
  writeFileSync(join(root, 'a/latin.dot'), 'digraph d {\n start -> exit // é\n}', 'latin1');
  write('a/huge.yaml', `name: huge\n#${'x'.repeat(6 * 1024 * 1024)}`);
  const catalog = await open('a');
  expect(catalog.list().map(({ workflow: { name } }) => name)).toEqual(['good']);
  const faults = Object.fromEntries(catalog.broken().map(({ source, violations }) => [source, violations[0]?.message]));
  expect(faults).toEqual({
    'a/bad.yaml': 'there is no block type Nope',
    'a/nameless.yaml': 'it names no workflow',
    'a/second.yaml': 'a/good.yaml has the name good too',
    'a/latin.dot': 'line 2 is no UTF-8: save the file as UTF-8',
    'a/huge.yaml': expect.stringContaining('over the limit'),
  });
  expect(thrown(() => catalog.get('bad')).code).toBe('GRAPH_INVALID');
});

test('D11 reload sees what was added, changed and deleted', async () => {
  write('a/one.yaml', workflow('one'));
  write('a/two.yaml', workflow('two'));
  const catalog = await open('a');
  const before = catalog.get('one').workflow.graph.hash;
  unlinkSync(join(root, 'a/two.yaml'));
  write('a/one.yaml', workflow('one', 'changed'));
  write('a/three.yaml', workflow('three'));
  expect(catalog.get('two').workflow.name).toBe('two');
  expect(catalog.reload()).toEqual({ total: 2, broken: [] });
  expect(catalog.get('one').workflow.graph.hash).not.toBe(before);
  const missing = thrown(() => catalog.get('two'));
  expect([missing.code, missing.data['known']]).toEqual(['WORKFLOW_NOT_FOUND', ['one', 'three']]);
});

test('D8 links that lead in circles, hidden folders and node_modules are no places to look', async () => {
  write('a/one.yaml', workflow('one'));
  write('a/.hidden/two.yaml', workflow('two'));
  write('a/node_modules/three.yaml', workflow('three'));
  symlinkSync(join(root, 'a'), join(root, 'a/again'));
  symlinkSync(join(root, 'nowhere'), join(root, 'a/gone.yaml'));
  expect((await open('a')).list().map(({ workflow: { name } }) => name)).toEqual(['one']);
});

test('D12 an unknown name lists those there are, the nearest first; a folder that is not there is a fault', async () => {
  write('a/1.yaml', workflow('alpha'));
  write('a/2.yaml', workflow('deploy'));
  const catalog = await open('a');
  expect(thrown(() => catalog.get('deplyo')).data['known']).toEqual(['deploy', 'alpha']);
  await expect(open('nowhere')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

test('D14 workflows given as texts are refused unless they are allowed', async () => {
  write('a/1.yaml', workflow('alpha'));
  const catalog = await open('a');
  await expect(catalog.readInline(workflow('mine'))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  const dialect = await loadFileDialects({ file: undefined }, ['inline']);
  const open2 = openCatalog({ dialect, folders: [join(root, 'a')], cwd: root });
  expect((await open2.readInline(workflow('mine'))).name).toBe('mine');
  const shell = 'name: sh\nblocks:\n  - id: x\n    type: Shell\n    inputs: { command: "true" }\n';
  await expect(open2.readInline(shell)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  expect(open2.check(shell).violations).toEqual([]);
});

test('Y11 D9 pipelines are run by name as workflows in YAML are, from texts too; what a run keeps of them is read without the files', async () => {
  write(
    'a/ship.dot',
    'digraph ship {\n start [shape=Mdiamond]\n exit [shape=Msquare]\n sub [shape=house, stack.child_dotfile="inner.dot"]\n start -> sub -> exit\n}\n',
  );
  write(
    'a/inner.dot',
    'digraph inner {\n start [shape=Mdiamond]\n exit [shape=Msquare]\n t [shape=parallelogram, tool_command="true"]\n start -> t -> exit\n}\n',
  );
  const text = 'name: main\nblocks:\n  - { id: go, type: Workflow, inputs: { workflow: ship } }\n';
  write('a/main.yaml', text);
  const openWith = async (...allow: readonly string[]): Promise<WorkflowCatalog> =>
    openCatalog({
      dialect: await loadFileDialects({ file: undefined }, ['inline', ...allow]),
      folders: [join(root, 'a')],
      cwd: join(root, 'elsewhere'),
    });
  const [catalog, dialect] = [await openWith('workflow=ship'), await loadFileDialects({ file: undefined }, [])];
  expect(catalog.broken()).toEqual([]);
  const { workflow } = catalog.get('main');
  const called = (graph: Graph): string | undefined => graph.nodes.find(({ id }) => id === 'go')?.subgraph?.hash;
  expect(called(workflow.graph)).toBe(catalog.get('ship').workflow.graph.hash);
  expect(workflow.blocks).toMatchObject([{ workflow: 'ship', asks: false }]);
  // The operator's pipeline, which is granted by name, runs a command; the same as a text could not.
  expect(called((await catalog.readInline(text.replace('main', 'mine'))).graph)).toBe(called(workflow.graph));
  await expect((await openWith('shell')).readInline(text)).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message: expect.stringContaining('workflow=ship'),
  });
  const inner = readFileSync(join(root, 'a/inner.dot'), 'utf8');
  await expect(catalog.readInline(inner)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  rmSync(join(root, 'a'), { recursive: true });
  expect(dialect.readBundle(workflow.graph.text ?? '', dialect.options).graph.hash).toBe(workflow.graph.hash);
});
