/** A folder made equal to a manifest, whatever a command did to it. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FileAccess } from '../graph/contracts/access.ts';
import { checkPath, makeEqual, withFile, type Manifest } from './folder.ts';

const file = {} as never;
const files = { get: () => Promise.resolve(Buffer.from('content')) } as unknown as FileAccess;
const manifest: Manifest = new Map([
  ['d', { folder: 0o755 }],
  ['d/f', { file, mode: 0o644 }],
  ['l', { link: 'd' }],
]);

/** Files are opened as a user who is not root, to whom the kernel refuses what is closed. */
async function asUser(work: () => Promise<void>): Promise<void> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(100_123);
  try {
    await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test.skipIf(process.platform === 'win32')(
  'SB2 a folder that a command closed is emptied and filled all the same, and is open again',
  async () => {
    let folder = '';
    await asUser(async () => {
      folder = mkdtempSync(join(tmpdir(), 'cairn-closed-'));
      mkdirSync(join(folder, 'inner'));
      writeFileSync(join(folder, 'inner/left'), 'left');
      for (const path of [join(folder, 'inner'), folder]) chmodSync(path, 0);
      await makeEqual(folder, manifest, files);
    });
    expect([readdirSync(folder), readdirSync(join(folder, 'd'))]).toEqual([['d', 'l'], ['f']]);
    expect(statSync(folder).mode & 0o777).toBe(0o755);
    rmSync(folder, { recursive: true });
  },
);

test('SB2.2 a path may name a file that is there, and leads through folders alone', () => {
  for (const path of ['new', 'd/f', 'd/new', 'e/f/g']) expect(checkPath(path, manifest)).toBe(path);
  expect(() => checkPath('d', manifest)).toThrow(/d is a folder/u);
  expect(() => checkPath('d/f/g', manifest)).toThrow(/d\/f is no folder/u);
  expect(() => checkPath('l/f', manifest)).toThrow(/l is no folder/u);
  expect(Object.keys(withFile(manifest, 'd/e/f', file, 0o644))).toEqual(['d/e', 'd/e/f']);
});
