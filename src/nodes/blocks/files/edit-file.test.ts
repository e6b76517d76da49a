/** Real files. */
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import * as fc from 'fast-check';
import { leastCpuRatio } from '../../../../test/support/cpu-ratio.ts';
import { failBlock, runBlock } from '../../../../test/support/run-block.ts';
import { scale } from '../../../../test/support/scale.ts';
import { editFile } from './edit-file.ts';
import { applyOperation, readOperations } from './edits.ts';
import { applyUnifiedDiff, countChangedLines, writeUnifiedDiff } from './text-diff.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-edit-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const fresh = (text?: string): string => {
  const path = join(folder, `${(count += 1)}.txt`);
  if (text !== undefined) writeFileSync(path, text);
  return path;
};
const apply = (text: string, operation: Readonly<Record<string, unknown>>): string =>
  applyOperation(text, readOperations([operation])[0] ?? {});

test.for<[string, Record<string, unknown>, string, string]>([
  ['all occurrences', { type: 'replace_text', old_text: 'a', new_text: '$&' }, 'aba', '$&b$&'],
  ['the first ones', { type: 'replace_text', old_text: 'a', new_text: 'x', count: 1 }, 'aba', 'xba'],
  ['none', { type: 'replace_text', old_text: 'z', new_text: 'x' }, 'aba', 'aba'],
  ['lines', { type: 'replace_lines', line_start: 2, line_end: 3, content: 'x' }, 'a\nb\nc\nd\n', 'a\nx\nd\n'],
  ['the last line', { type: 'replace_lines', line_start: 2, line_end: 2, content: 'x\n' }, 'a\nb', 'a\nx'],
  ['inserted lines', { type: 'insert_lines', line_start: 2, content: 'x\ny' }, 'a\nb\n', 'a\nx\ny\nb\n'],
  ['inserted at the end', { type: 'insert_lines', line_start: 3, content: 'x' }, 'a\nb', 'a\nb\nx'],
  ['inserted in nothing', { type: 'insert_lines', line_start: 1, content: 'x' }, '', 'x\n'],
  ['deleted lines', { type: 'delete_lines', line_start: '1', line_end: '2' }, 'a\nb\nc', 'c'],
  ['line ends kept', { type: 'insert_lines', line_start: 2, content: 'x\ny\n' }, 'a\r\nb\r\n', 'a\r\nx\r\ny\r\nb\r\n'],
  ['a pattern', { type: 'regex_replace', pattern: '(\\w)=(\\d)', replacement: '\\2=\\1' }, 'a=1 b=2', '1=a 2=b'],
  ['a named group', { type: 'regex_replace', pattern: '(?P<k>\\w)=', replacement: '\\g<k>:$1' }, 'a=', 'a:$1'],
  [
    'flags',
    { type: 'regex_replace', pattern: '^a.', replacement: '\\n', flags: ['IGNORECASE', 'MULTILINE', 'DOTALL'] },
    'x\nA\n',
    'x\n\n',
  ],
  ['a patch', { type: 'patch', patch: '@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n' }, 'a\nb\nc\n', 'a\nx\nc\n'],
])('B19 %s', ([, operation, before, after]) => {
  expect(apply(before, operation)).toBe(after);
});

test.for<[string, Record<string, unknown>, RegExp]>([
  ['lines that are not there', { type: 'delete_lines', line_start: 1, line_end: 9 }, /line_end is 9/],
  ['a line before the first', { type: 'insert_lines', line_start: 0, content: 'x' }, /line_start must be/],
  ['a line far after the last', { type: 'insert_lines', line_start: 9, content: 'x' }, /there are 2 lines/],
  ['an end before the start', { type: 'replace_lines', line_start: 2, line_end: 1, content: 'x' }, /line_end must be/],
  ['an empty text', { type: 'replace_text', old_text: '', new_text: 'x' }, /empty/],
  ['a missing field', { type: 'replace_text', old_text: 'a' }, /new_text is missing/],
  ['a broken pattern', { type: 'regex_replace', pattern: '(', replacement: '' }, /[Ii]nvalid/],
  ['a pattern that takes ages', { type: 'regex_replace', pattern: '^(a+)+$', replacement: '' }, /takes over/],
  ['a group that is not there', { type: 'regex_replace', pattern: 'a', replacement: '\\1' }, /no group 1/],
  ['an unknown flag', { type: 'regex_replace', pattern: 'a', replacement: '', flags: ['VERBOSE'] }, /VERBOSE/],
  ['a patch of other text', { type: 'patch', patch: '@@ -1,1 +1,1 @@\n-z\n+x\n' }, /does not fit/],
  ['what is no patch', { type: 'patch', patch: 'hello' }, /does not fit/],
  [
    'a patch of two files',
    { type: 'patch', patch: '--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n--- c\n+++ c\n@@ -1 +1 @@\n-a\n+b\n' },
    /fit/,
  ],
])('B19 refused: %s', ([what, operation, reason]) => {
  const text = what.includes('ages') ? `${'a'.repeat(60)}!` : 'a\nb\n';
  expect(() => apply(text, operation)).toThrow(reason);
});

test('B19 a patch that was made of two texts leads from one to the other, and lines are counted', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 })
    .map((lines) => lines.map((line) => `${line}\n`).join(''));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const diff = writeUnifiedDiff('f', before, after);
      expect(diff === '').toBe(before === after);
      expect(diff === '' ? before : applyUnifiedDiff(before, diff)).toBe(after);
      const { added, removed } = countChangedLines(before, after);
      expect(added - removed).toBe(after.split('\n').length - before.split('\n').length);
    }),
  );
});

test('B19 a difference of very many lines is one of their replacement, in time that goes with the size, and still leads from one to the other', async () => {
  const line = fc.constantFrom('a', 'b', 'c', '', '\\ No newline at end of file', '--- x');
  const text = fc
    .tuple(fc.array(line, { maxLength: 8 }), fc.nat(2_000), fc.array(line, { maxLength: 8 }), fc.boolean())
    .map(([first, count, last, isEnded]) => {
      const lines = [...first, ...Array.from({ length: count }, (_, index) => `${count} ${index}`), ...last];
      return lines.join('\n') + (isEnded ? '\n' : '');
    });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const patch = writeUnifiedDiff('f', before, after);
      expect(patch === '' ? before : applyUnifiedDiff(before, patch)).toBe(after);
      const { added, removed } = countChangedLines(before, after);
      expect(before.split('\n').length + added - removed).toBeLessThanOrEqual(after.split('\n').length + 1);
    }),
    { numRuns: scale(6, 300) },
  );
  const lines = (of: string, count: number): string =>
    `${of}\n`.repeat(count).replaceAll(/^/gmu, () => `${(number += 1)}`);
  let number = 0;
  const compare = (count: number) => {
    const [before, after] = [lines('a', count), lines('b', count)];
    return () => [writeUnifiedDiff('f', before, after), countChangedLines(before, after)];
  };
  const ratio = await leastCpuRatio(compare(32_000), compare(4_000), { times: 8, bound: 3 });
  expect(ratio).toBeLessThan(3);
  const hunks = '@@ -40000,1 +1,1 @@\n-a\n+c\n@@ -1,1 +1,1 @@\n-a\n+c\n'.repeat(10_000);
  const start = process.cpuUsage().user;
  expect(applyUnifiedDiff('a\nb\n'.repeat(20_000), `--- a/f\n+++ b/f\n${hunks}`)).toBeUndefined();
  expect((process.cpuUsage().user - start) / 1_000).toBeLessThan(2_000);
});

test('B20 a file is edited, its old text and mode kept beside it, and the change is told', async () => {
  const path = fresh('a\nb\nc\n');
  chmodSync(path, 0o600);
  const operations = [
    { type: 'replace_lines', line_start: 2, line_end: 2, content: 'x' },
    { type: 'insert_lines', line_start: 4, content: 'd' },
    { type: 'replace_text', old_text: 'none', new_text: '' },
  ];
  const output = await runBlock(editFile, { path, operations: JSON.stringify(operations) });
  expect(output).toMatchObject({
    operations_applied: 2,
    lines_added: 1,
    lines_removed: 0,
    lines_modified: 1,
    backup_path: `${path}.bak`,
    success: true,
    errors: [],
  });
  expect(output['diff']).toContain('-b\n+x\n c\n+d\n');
  expect([path, `${path}.bak`].map((each) => readFileSync(each, 'utf8'))).toEqual(['a\nx\nc\nd\n', 'a\nb\nc\n']);
  expect([path, `${path}.bak`].map((each) => statSync(each).mode & 0o777)).toEqual([0o600, 0o600]);
});

test('B20 atomic: one operation that does not fit leaves the file and makes no backup', async () => {
  const path = fresh('a\n');
  const operations = [
    { type: 'replace_text', old_text: 'a', new_text: 'b' },
    { type: 'delete_lines', line_start: 5, line_end: 5 },
  ];
  expect(await failBlock(editFile, { path, operations })).toMatchObject({
    code: 'EDIT_FAILED',
    applied: 'no',
    data: { success: false, operations_applied: 0, diff: '', errors: [expect.stringContaining('operations[1]')] },
  });
  expect([readFileSync(path, 'utf8'), existsSync(`${path}.bak`)]).toEqual(['a\n', false]);
  expect(await failBlock(editFile, { path, operations, atomic: false })).toMatchObject({
    code: 'EDIT_FAILED',
    applied: 'unknown',
    data: { success: false, operations_applied: 1 },
  });
  expect(readFileSync(path, 'utf8')).toBe('b\n');
});

test('B20 a dry run writes nothing, and is a read', async () => {
  const path = fresh('a\n');
  const operations = [{ type: 'replace_text', old_text: 'a', new_text: 'b' }];
  const output = await runBlock(editFile, { path, operations, dry_run: true });
  expect(output).toMatchObject({ operations_applied: 1, backup_path: null });
  expect(output['diff']).toContain('+b');
  expect([readFileSync(path, 'utf8'), existsSync(`${path}.bak`)]).toEqual(['a\n', false]);
  const { effect } = editFile;
  expect([{ dry_run: true }, {}].map((literals) => typeof effect === 'function' && effect(literals))).toEqual([
    'read',
    'write',
  ]);
});

test('B20 a file that is not there is a failure, or begun', async () => {
  const path = fresh();
  const operations = [{ type: 'insert_lines', line_start: 1, content: 'x' }];
  expect(await failBlock(editFile, { path, operations })).toMatchObject({ code: 'ENOENT', applied: 'no' });
  expect(await runBlock(editFile, { path, operations, create_if_missing: true })).toMatchObject({
    backup_path: null,
    lines_added: 1,
  });
  expect(readFileSync(path, 'utf8')).toBe('x\n');
});

test('B17 edits side by side do not lose each other', async () => {
  const path = fresh('');
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      runBlock(editFile, { path, operations: [{ type: 'insert_lines', line_start: 1, content: `${index}` }] }),
    ),
  );
  expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(20);
});

test('B12 neither the file nor its backup is written through a link', async () => {
  const target = fresh('a\n');
  const link = fresh();
  symlinkSync(target, link);
  const operations = [{ type: 'replace_text', old_text: 'a', new_text: 'b' }];
  expect(await failBlock(editFile, { path: link, operations })).toMatchObject({ code: 'PATH_REFUSED' });
  const path = fresh('a\n');
  symlinkSync(target, `${path}.bak`);
  expect(await failBlock(editFile, { path, operations })).toMatchObject({ code: 'PATH_REFUSED' });
  expect([target, path].map((each) => readFileSync(each, 'utf8'))).toEqual(['a\n', 'a\n']);
});

test('G9 operations that are none are refused at load, by place', () => {
  for (const [operations, reason] of [
    ['no json', 'must be a list'],
    [[], 'must be a list'],
    [[5], 'operations[0] is no object'],
    [[{ type: 'replace_text' }, { type: 'constructor' }], 'operations[1].type'],
    [[{ type: 'replace_text', olt_text: 'a' }], 'operations[0].olt_text'],
  ] as const)
    expect(editFile.check?.({ operations })).toMatchObject([{ message: expect.stringContaining(reason) }]);
});
