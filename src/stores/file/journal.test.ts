/** What is read of a journal whose end is not as it was written. */
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { append, emptyEnd, readJournal, type JournalEnd } from './journal.ts';

let folder = '';
let path = '';
let first: JournalEnd;
let second: JournalEnd;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-journal-'));
  path = join(folder, 'r.jsonl');
  first = append(path, { n: 1 }, emptyEnd('j'), false, 's');
  second = append(path, { n: 2 }, first, false, 's');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const read = () => readJournal(path, 'j', 's');

test('S2 a last line whose line feed became another byte is damage: it was written whole', () => {
  const bytes = readFileSync(path);
  bytes[bytes.length - 1] = 0x0b;
  writeFileSync(path, bytes);
  expect(read()).toMatchObject({ entries: [{ n: 1 }], end: first, damage: expect.stringMatching(/^line 2 of /u) });
});

test('S2 a last line that was cut while it was written is no damage, wherever it was cut', () => {
  for (let size = second.sizeBytes - 2; size > first.sizeBytes; size -= 1) {
    truncateSync(path, size);
    expect(read()).toEqual({ entries: [{ n: 1 }], end: first, tornBytes: size - first.sizeBytes });
  }
});

test('S2 a last line that lacks its line feed alone is whole', () => {
  truncateSync(path, second.sizeBytes - 1);
  expect(read()).toEqual({ entries: [{ n: 1 }, { n: 2 }], end: second, tornBytes: 0 });
});
