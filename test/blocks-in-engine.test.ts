/** The built-in blocks in workflows, on real files and processes. */
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../src/app/process/system-clock.ts';
import { createNodeTypes } from '../src/nodes/blocks/index.ts';
import { createBench } from './engine-kit.ts';
import { faultsOf, read, type More } from './yaml-kit.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-blocks-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const nodeTypes = createNodeTypes();

/** Under real time: the work is that of real processes. */
async function runText(text: string, input: unknown, more: More = {}) {
  const { graph } = read(text, { nodeTypes, ...more });
  const { engine } = createBench({ clock: systemClock });
  const result = await (await engine.start(graph, input)).result();
  return { result, outputs: result.state.outputs['outputs'] };
}

const head = 'name: w\ndescription: d\n';

test('B1 blocks hand files and values to each other', async () => {
  const { result, outputs } = await runText(
    `${head}inputs:
  dir: { type: str }
  who: { type: str }
blocks:
  - id: make
    type: CreateFile
    inputs: { path: "\${dir}/notes.md", content: "# Notes\\n\\nfor \${who}\\n" }
  - id: count
    type: Shell
    depends_on: [make]
    inputs: { working_dir: "\${dir}", command: 'wc -l < notes.md > lines; printf %s "\${who}"' }
    outputs: { lines: { type: num, path: lines } }
  - id: state
    type: MergeJSONState
    depends_on: [count]
    inputs: { path: "\${dir}/state.json", updates: { lines: "\${count.outputs.lines}" } }
  - id: edit
    type: EditFile
    depends_on: [count]
    inputs: { path: "\${make.path}", operations: [{ type: replace_text, old_text: Notes, new_text: "\${count.lines} lines" }] }
  - id: read
    type: ReadFiles
    depends_on: [edit]
    inputs: { patterns: ["*.md"], base_path: "\${dir}", mode: outline }
outputs:
  said: "\${count.stdout}"
  state: "\${state.merged_data}"
  outline: "\${read.content}"
`,
    { dir: folder, who: '"; touch owned; $(touch owned)' },
  );
  expect(result.error).toBeUndefined();
  expect(outputs).toEqual({
    said: '"; touch owned; $(touch owned)',
    state: { lines: 3 },
    outline: '1: 3 lines',
  });
  expect(existsSync(join(folder, 'owned'))).toBe(false);
});

test('B5 what a failed command said is in the failure', async () => {
  const { result } = await runText(
    `${head}blocks: [{ id: a, type: Shell, inputs: { command: "echo out; echo why >&2; exit 3" } }]`,
    {},
  );
  expect(result).toMatchObject({ status: 'failed', failed: ['a'] });
  expect(result.state.failures['a']).toMatchObject({ code: 'EXIT_CODE', data: { exit_code: 3, stdout: 'out\n' } });
});

test('G9 what a block does not take is refused when the file is read', () => {
  const faults = faultsOf(
    `${head}blocks:
  - { id: a, type: Shell, inputs: { comand: ls, command: ls, timeout: 0, shell: false } }
  - { id: b, type: HttpCall, inputs: { url: "http://x", json: 1, content: x } }
  - { id: c, type: EditFile, inputs: { path: x, operations: [{ type: replace }] } }
  - { id: d, type: CreateFile, inputs: { path: x, content: y, mode: 644 } }
`,
    { nodeTypes },
  ).join('\n');
  for (const part of ['`comand`', 'timeout', 'shell must be true', 'json and content', 'operations[0].type', 'mode'])
    expect(faults).toContain(part);
});

test('B3 a link that appears in a folder that is granted opens no other one', async () => {
  const outside = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-outside-')));
  const granted = realpathSync(mkdtempSync(join(folder, 'granted-')));
  symlinkSync(outside, join(granted, 'link'));
  const write = (path: string) =>
    runText(
      `${head}inputs: { path: { type: str } }
blocks: [{ id: a, type: CreateFile, inputs: { path: "\${path}", content: x } }]`,
      { path },
      { origin: 'inline', permissions: { fs: [granted] } },
    );
  expect((await write(join(granted, 'x'))).result.status).toBe('completed');
  for (const path of [join(granted, 'link', 'x'), join(granted, '..', 'x'), join(outside, 'x')])
    expect((await write(path)).result.error).toMatchObject({ data: { code: 'PERMISSION_DENIED' } });
  expect(existsSync(join(outside, 'x'))).toBe(false);
  expect(readFileSync(join(granted, 'x'), 'utf8')).toBe('x');
  rmSync(outside, { recursive: true });
});
