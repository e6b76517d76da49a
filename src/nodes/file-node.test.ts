/** Real files. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { CairnError } from '../errors.ts';
import type { NodeFailure, Reconciliation } from '../graph/contracts/node-contract.ts';
import { whilePathFlips } from '../../test/support/flipping-path.ts';
import { createFakeContext, createStateView, type FakeContextOptions } from '../testing/node-suite/fake-context.ts';
import { fileNode } from './builders.ts';
import type { FileOutput, FileReadConfig, FileWriteConfig } from './index.ts';

type Config = FileReadConfig | FileWriteConfig;

const top = mkdtempSync(join(tmpdir(), 'cairn-file-'));
let root = '';
beforeEach(() => {
  root = mkdtempSync(join(top, 'case-'));
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

const run = async (config: Config, options: FakeContextOptions = {}): Promise<unknown> =>
  fileNode(config).implementation.run(createFakeContext(options));
const failureOf = (config: Config, options: FakeContextOptions = {}): Promise<NodeFailure> =>
  run(config, options).then(
    () => Promise.reject(new Error('completed')),
    (error: unknown) => error as NodeFailure,
  );
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

test('X reads are reads, the others are writes; only a whole write can be settled when it is in doubt', () => {
  const drafts = [
    fileNode({ action: 'read', path: 'a' }),
    fileNode({ action: 'write', path: 'a', content: '' }),
    fileNode({ action: 'append', path: 'a', content: '' }),
  ];
  expect(drafts.map(({ effect }) => effect)).toEqual(['read', 'write', 'write']);
  expect(drafts.map(({ implementation }) => implementation.reconcile !== undefined)).toEqual([false, true, false]);
});

test('a file is written with its folders, and its output says what was written', async () => {
  const output = await run(
    {
      action: 'write',
      root,
      path: ({ state }) => `notes/${String(state.input)}.md`,
      content: ({ state }) => `# ${String(state.scratch['title'])} é`,
    },
    { state: { input: 'v1', scratch: { title: 'One' } } },
  );
  expect(output).toEqual({ path: 'notes/v1.md', sizeBytes: 8, sha256: hashOf('# One é') });
  expect(readFileSync(join(root, 'notes/v1.md'), 'utf8')).toBe('# One é');
  expect(readdirSync(join(root, 'notes'))).toEqual(['v1.md']);
});

test('P6 a write replaces the file whole, keeps its mode, and leaves no temporary file', async () => {
  const path = join(root, 'run.sh');
  writeFileSync(path, 'a much longer text than the new one');
  chmodSync(path, 0o750);
  const before = statSync(path).ino;
  await run({ action: 'write', path, content: new Uint8Array([1, 2]) });
  expect([...readFileSync(path)]).toEqual([1, 2]);
  expect(statSync(path).mode & 0o777).toBe(0o750);
  // Another inode: whoever has the old one open still reads it whole.
  expect(statSync(path).ino).not.toBe(before);
  // 0o666 is more than the umask lets through.
  for (const mode of [0o600, 0o666]) {
    await run({ action: 'write', path, content: '', mode });
    expect(statSync(path).mode & 0o777).toBe(mode);
  }
  expect(readdirSync(root)).toEqual(['run.sh']);
});

test('X3 a write that fails before it takes effect says so, and leaves the old file as it was', async () => {
  const path = join(root, 'file');
  mkdirSync(path);
  writeFileSync(join(path, 'inside'), '');
  expect(await failureOf({ action: 'write', path, content: 'x' })).toMatchObject({ applied: 'no' });
  expect(readdirSync(root)).toEqual(['file']);
  expect(await failureOf({ action: 'write', path: join(path, 'inside/below'), content: 'x' })).toMatchObject({
    applied: 'no',
  });
  expect(await failureOf({ action: 'append', path, content: 'x' })).toMatchObject({ code: 'EISDIR', applied: 'no' });
  expect(await failureOf({ action: 'write', path: join(root, 'new'), content: (() => 5) as never })).toMatchObject({
    code: 'CONTENT_INVALID',
    applied: 'no',
  });
});

test('E7 under a signal that is aborted already nothing is written', async () => {
  const signal = AbortSignal.abort(new Error('stop'));
  for (const action of ['write', 'append'] as const) {
    expect(await failureOf({ action, path: join(root, 'no'), content: 'x' }, { signal })).toMatchObject({
      message: 'stop',
    });
  }
  expect(readdirSync(root)).toEqual([]);
});

test('X3 a write in doubt is settled by comparing content, and what its attempt left is removed', async () => {
  const config: FileWriteConfig = {
    action: 'write',
    root,
    path: 'out.txt',
    content: ({ state }) => String(state.input),
  };
  const reconcile = (input: string, key = 'key-1'): Promise<Reconciliation> | Reconciliation | undefined =>
    fileNode(config).implementation.reconcile?.({
      idempotencyKey: key,
      config: {},
      state: createStateView({ input }),
      signal: new AbortController().signal,
    });
  expect(await reconcile('new')).toEqual({ happened: false });
  const output = (await run(config, { state: { input: 'new' } })) as FileOutput;
  expect(await reconcile('new')).toEqual({ happened: true, output });
  expect(await reconcile('newer')).toEqual({ happened: false });

  const left = spawnSync(process.execPath, ['-e', killedWrite], {
    env: { ...process.env, FILE: join(root, 'out.txt'), MODULE: join(import.meta.dirname, 'file/write-atomically.ts') },
  });
  expect(left.signal).toBe('SIGKILL');
  expect(readFileSync(join(root, 'out.txt'), 'utf8')).toBe('new');
  expect(readdirSync(root)).toHaveLength(2);
  await reconcile('new', 'another-key');
  expect(readdirSync(root)).toHaveLength(2);
  expect(await reconcile('new')).toMatchObject({ happened: true });
  expect(readdirSync(root)).toEqual(['out.txt']);
});

/** A process that is killed between the temporary file and the rename: its `rename` is the kill. */
const killedWrite = `
  const promises = require('node:fs/promises');
  promises.rename = () => process.kill(process.pid, 'SIGKILL');
  require('node:module').syncBuiltinESMExports();
  import(process.env.MODULE).then(({ writeAtomically }) =>
    writeAtomically({ path: process.env.FILE, bytes: Buffer.from('half'), key: 'key-1' }));
`;

test('an append adds to the end, and makes the file if need be', async () => {
  const config: FileWriteConfig = {
    action: 'append',
    root,
    path: 'log/all.txt',
    content: ({ state }) => String(state.input),
    mode: 0o640,
  };
  await run(config, { state: { input: 'one\n' } });
  expect(await run(config, { state: { input: 'two\n' } })).toEqual({
    path: 'log/all.txt',
    sizeBytes: 4,
    sha256: hashOf('two\n'),
  });
  expect(readFileSync(join(root, 'log/all.txt'), 'utf8')).toBe('one\ntwo\n');
  expect(statSync(join(root, 'log/all.txt')).mode & 0o777).toBe(0o640);
});

test('P6 a read gives text or bytes, within its limit, and never guesses', async () => {
  writeFileSync(join(root, 'text'), '\ufeffé');
  writeFileSync(join(root, 'bytes'), new Uint8Array([0xff, 0]));
  const read = (path: string, rest: Partial<FileReadConfig> = {}): FileReadConfig => ({
    action: 'read',
    root,
    path,
    ...rest,
  });
  expect(await run(read('text'))).toBe('\ufeffé');
  expect(await run(read('bytes', { encoding: 'bytes' }))).toEqual(new Uint8Array([0xff, 0]));
  expect(await run(read('text', { maxBytes: 5 }))).toBe('\ufeffé');
  expect(await failureOf(read('bytes'))).toMatchObject({ code: 'ENCODING' });
  expect(await failureOf(read('text', { maxBytes: 4 }))).toMatchObject({ code: 'FILE_TOO_LARGE' });
  expect(await failureOf(read('absent'))).toMatchObject({ code: 'ENOENT' });
  expect(await failureOf(read('.'))).toMatchObject({ code: 'EISDIR' });
  expect(await failureOf(read('text'), { signal: AbortSignal.abort(new Error('stop')) })).toMatchObject({
    message: 'stop',
  });
});

test('P6 nothing outside the root is read or written, by any path or link', async () => {
  const outside = mkdtempSync(join(top, 'outside-'));
  writeFileSync(join(outside, 'secret'), 'hidden');
  mkdirSync(join(root, 'inner'));
  symlinkSync(outside, join(root, 'folder-link'));
  symlinkSync(join(outside, 'secret'), join(root, 'file-link'));
  symlinkSync(join(outside, 'not-yet'), join(root, 'dangling'));
  symlinkSync('inner', join(root, 'inner-link'));
  const paths = [
    '../x',
    'inner/../../x',
    'inner/..',
    '..',
    join(outside, 'secret'),
    'folder-link/secret',
    'folder-link/new',
    'file-link',
    'a\0b',
    '',
    '..\\x',
  ];
  for (const path of paths) {
    const refusal = {
      code: 'PATH_REFUSED',
      applied: 'no',
      message: expect.stringContaining(JSON.stringify(path)) as unknown,
    };
    for (const action of ['write', 'append'] as const) {
      expect(await failureOf({ action, root, path: () => path, content: 'x' })).toMatchObject(refusal);
    }
    expect(await failureOf({ action: 'read', root, path })).toMatchObject(refusal);
  }
  await failureOf({ action: 'append', root, path: 'dangling', content: 'x' });
  expect(readdirSync(outside)).toEqual(['secret']);
  expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('hidden');
  await run({ action: 'write', root, path: 'inner-link/kept', content: 'x' });
  expect(readFileSync(join(root, 'inner/kept'), 'utf8')).toBe('x');
  expect(await failureOf({ action: 'read', root: join(root, 'absent'), path: 'x' })).toMatchObject({
    code: 'PATH_REFUSED',
  });
});

test('P6 names at the limits of the file system are written', async () => {
  const name = `${'é'.repeat(120)}.txt`;
  await run({ action: 'write', root, path: name, content: 'x' });
  expect(readdirSync(root)).toEqual([name]);
});

test('G9 a configuration that misses something, or has too much, is refused', () => {
  expect(() => fileNode({ action: 'move', path: 'a' } as never)).toThrow(CairnError);
  expect(() => fileNode({ action: 'read' } as never)).toThrow(/path/);
  expect(() => fileNode({ action: 'write', path: 'a' } as never)).toThrow(/content/);
  expect(() => fileNode({ action: 'read', path: 'a', content: 'x' } as never)).toThrow(/knows no option "content"/);
});

test('N33 a folder that is swapped for a link out while it is used gets no read and no write outside', async () => {
  const inner = join(root, 'inner');
  const outside = mkdtempSync(join(top, 'outside-'));
  mkdirSync(inner);
  writeFileSync(join(inner, 'x'), 'own');
  writeFileSync(join(outside, 'x'), 'secret');
  const seen: unknown[] = [];
  const place = { root, path: 'spot/x' };
  await whilePathFlips({ path: join(root, 'spot'), inside: inner, outside }, 'folder', async () => {
    for (let round = 0; round < 2_000; round += 1) {
      const action = (['read', 'append', 'write'] as const)[round % 3]!;
      const config: Config = action === 'read' ? { action, ...place } : { action, content: 'own', ...place };
      seen.push(await run(config).catch((error: unknown) => (error as NodeFailure).code));
    }
  });
  expect(seen).not.toContain('secret');
  expect(readdirSync(outside)).toEqual(['x']);
  expect(readFileSync(join(outside, 'x'), 'utf8')).toBe('secret');
  // It was a contest: both came about.
  expect(seen.some((what) => typeof what !== 'string' || what.startsWith('own'))).toBe(true);
  expect(seen).toContain('PATH_REFUSED');
}, 60_000);
