/** Real files. */
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { failBlock, runBlock } from '../../../../test/support/run-block.ts';
import { createFile } from './render-template.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-create-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const fresh = (): string => join(folder, `file-${(count += 1)}`);

test('B11 a file is made, and then replaced', async () => {
  const path = join(folder, 'a', 'b', 'c.txt');
  expect(await runBlock(createFile, { path, content: 'é\n' })).toEqual({
    path,
    size_bytes: 3,
    created: true,
    content: 'é\n',
  });
  expect(await runBlock(createFile, { path, content: 5 })).toEqual({
    path,
    size_bytes: 1,
    created: false,
    content: '5',
  });
  expect(readFileSync(path, 'utf8')).toBe('5');
});

test('B11 without overwrite a file that is there stays, and without create_parents no folder is made', async () => {
  const path = fresh();
  writeFileSync(path, 'mine');
  expect(await failBlock(createFile, { path, content: 'x', overwrite: false })).toMatchObject({
    code: 'EEXIST',
    applied: 'no',
  });
  expect(readFileSync(path, 'utf8')).toBe('mine');
  const deep = join(folder, 'no', 'such');
  expect(await failBlock(createFile, { path: deep, content: 'x', create_parents: false })).toMatchObject({
    code: 'ENOENT',
    applied: 'no',
  });
});

test('X3 one in doubt that may not overwrite is known by its content', async () => {
  const path = fresh();
  const inputs = { path, content: 'mine', overwrite: false };
  expect(await createFile.reconcile?.({ idempotencyKey: 'key', inputs })).toEqual({ happened: false });
  const output = await runBlock(createFile, inputs);
  expect(await createFile.reconcile?.({ idempotencyKey: 'key', inputs })).toEqual({ happened: true, output });
  writeFileSync(path, 'theirs');
  expect(await createFile.reconcile?.({ idempotencyKey: 'key', inputs })).toEqual({ happened: false });
});

test('B11 the mode is octal text; a number is refused, since it may mean three things', async () => {
  const path = fresh();
  for (const [mode, bits] of [
    ['640', 0o640],
    ['0o600', 0o600],
    ['0755', 0o755],
  ] as const) {
    await runBlock(createFile, { path, content: 'x', mode });
    expect(statSync(path).mode & 0o777).toBe(bits);
  }
  for (const mode of [644, '888', 'rw', '']) expect(createFile.check?.({ mode })).toMatchObject([{ input: 'mode' }]);
});

test('B12 a link is not written through, and a folder is not replaced', async () => {
  const target = fresh();
  const link = fresh();
  const place = fresh();
  writeFileSync(target, 'theirs');
  symlinkSync(target, link);
  mkdirSync(place);
  expect(await failBlock(createFile, { path: link, content: 'x' })).toMatchObject({
    code: 'PATH_REFUSED',
    applied: 'no',
  });
  expect(await failBlock(createFile, { path: place, content: 'x' })).toMatchObject({
    code: 'NOT_A_FILE',
    applied: 'no',
  });
  expect([readFileSync(target, 'utf8'), lstatSync(link).isSymbolicLink()]).toEqual(['theirs', true]);
});

test('B13 text that the encoding cannot hold is refused', async () => {
  const path = fresh();
  await runBlock(createFile, { path, content: 'é', encoding: 'latin1' });
  expect(readFileSync(path)).toEqual(Buffer.from([0xe9]));
  for (const [content, encoding] of [
    ['€', 'latin1'],
    ['é', 'ascii'],
    ['\ud800', 'utf-8'],
  ])
    expect(await failBlock(createFile, { path, content, encoding })).toMatchObject({ code: 'ENCODING', applied: 'no' });
});

test('B3 a path asks for where it is written and for where links lead it', () => {
  const real = fresh();
  mkdirSync(real);
  const link = fresh();
  symlinkSync(real, link);
  expect(createFile.needs?.({ path: join(link, 'new', 'x') })).toEqual([
    { kind: 'fs', path: join(link, 'new', 'x') },
    { kind: 'fs', path: join(real, 'new', 'x') },
  ]);
  expect(createFile.needs?.({ path: `${folder}/a/../../etc` })).toEqual([{ kind: 'fs', path: join(tmpdir(), 'etc') }]);
  expect(createFile.needs?.({ path: '~/x' })).toContainEqual({ kind: 'fs', path: join(homedir(), 'x') });
  expect(createFile.needs?.({})).toEqual([{ kind: 'fs', path: undefined }]);
});

test('B2 content that is no text is refused before anything happens', async () => {
  expect(await failBlock(createFile, { path: fresh(), content: { a: 1 } })).toMatchObject({
    code: 'INPUT_INVALID',
    applied: 'no',
  });
  expect(await failBlock(createFile, { path: 'a\0b', content: '' })).toMatchObject({ code: 'PATH_REFUSED' });
});
