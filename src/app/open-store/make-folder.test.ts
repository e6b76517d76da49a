import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CairnError } from '../../errors.ts';
import { makeFolder } from './make-folder.ts';

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-folder-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const faultOf = (act: () => void): string | undefined => {
  try {
    act();
    return undefined;
  } catch (error) {
    return CairnError.is(error) ? error.code : String(error);
  }
};

test("S5 the folders of a store are the owner's alone", () => {
  const folder = join(openFolder(), 'a', 'b');
  makeFolder(folder, 'sqlite:x');
  makeFolder(folder, 'sqlite:x');
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, '..')).mode & 0o777).toBe(0o700);
});

test('P6 a folder that cannot be made is a fault of the store', () => {
  const file = join(openFolder(), 'file');
  writeFileSync(file, '');
  expect(faultOf(() => makeFolder(join(file, 'a'), 'sqlite:x'))).toBe('STORE_UNAVAILABLE');
});

// Making a folder there says that it does not exist, as on a read-only disk, and Node's own recursion tries for ever.
test.runIf(existsSync('/proc/self'))('P6 a folder where none can be made is refused, and not tried for ever', () => {
  expect(faultOf(() => makeFolder('/proc/nowhere/a/b', 'sqlite:x'))).toMatch(/^STORE_(UNAVAILABLE|READ_ONLY)$/);
});
