/** Real files. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import * as fc from 'fast-check';
import { failBlock, runBlock } from '../../../../test/support/run-block.ts';
import { mergeDeep, mergeJsonState, readJsonState, writeJsonState } from './json-state.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-json-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const fresh = (text?: string): string => {
  const path = join(folder, `${(count += 1)}.json`);
  if (text !== undefined) writeFileSync(path, text);
  return path;
};

test('B15 what is written is sorted, indented by two, ends with a newline, and reads back', async () => {
  const path = fresh();
  const data = { b: [{ z: 1, a: null }], a: 'é', __proto__x: {} };
  expect(await runBlock(writeJsonState, { path, data })).toEqual({ path, size_bytes: statSync(path).size });
  expect(readFileSync(path, 'utf8')).toBe(`{
  "__proto__x": {},
  "a": "é",
  "b": [
    {
      "a": null,
      "z": 1
    }
  ]
}
`);
  expect(await runBlock(readJsonState, { path })).toEqual({ data, found: true, path });
});

test('B15 a file that is not there is empty, or a failure if it is required', async () => {
  const path = fresh();
  expect(await runBlock(readJsonState, { path })).toEqual({ data: {}, found: false, path });
  expect(await failBlock(readJsonState, { path, required: 'true' })).toMatchObject({ code: 'ENOENT', applied: 'no' });
});

test.for([
  ['text', 'no json'],
  ['a list', '[1]'],
  ['a number', '5'],
  ['nothing', ''],
  ['a NUL', '\u0000'],
])('B15 %s is no state, and a merge leaves the file as it was', async ([, text]) => {
  const path = fresh(text);
  expect(await failBlock(readJsonState, { path })).toMatchObject({ code: 'JSON_INVALID' });
  expect(await failBlock(mergeJsonState, { path, updates: { a: 1 } })).toMatchObject({
    code: 'JSON_INVALID',
    applied: 'no',
  });
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test('B15 a number that would be rounded is refused rather than rewritten', async () => {
  const path = fresh('{"id":12345678901234567891,"x":1.5e300}');
  const failure = await failBlock(mergeJsonState, { path, updates: { a: 1 } });
  expect(failure.message).toContain('12345678901234567891');
});

test('B15 a value that JSON does not have is refused, not changed', async () => {
  const path = fresh();
  for (const value of [new Date(), new Map(), 5n, Number.NaN, [undefined]])
    expect(await failBlock(writeJsonState, { path, data: { a: [{ b: value }] } })).toMatchObject({
      code: 'JSON_INVALID',
      applied: 'no',
      message: expect.stringContaining('data.a[0].b'),
    });
});

test('B16 objects merge key by key; lists, null and the rest replace', async () => {
  const path = fresh('{"a":{"x":1,"y":[1,2]},"b":2}');
  const updates = { a: { y: [3], z: { n: null } }, b: null, c: { d: 1 } };
  const merged = { a: { x: 1, y: [3], z: { n: null } }, b: null, c: { d: 1 } };
  expect(await runBlock(mergeJsonState, { path, updates })).toEqual({ path, created: false, merged_data: merged });
  expect(await runBlock(readJsonState, { path })).toMatchObject({ data: merged });
});

test('B16 merging twice is merging once, whatever the keys', () => {
  const object = fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), fc.jsonValue(), {
    noNullPrototype: true,
  });
  fc.assert(
    fc.property(object, object, (before, updates) => {
      const once = mergeDeep(before, updates);
      expect(mergeDeep(once, updates)).toEqual(once);
      expect(Object.keys(once).sort()).toEqual([...new Set([...Object.keys(before), ...Object.keys(updates)])].sort());
    }),
  );
});

test('B16 a file that is not there is begun, or a failure', async () => {
  const path = join(folder, 'new', 'state.json');
  expect(await failBlock(mergeJsonState, { path, updates: {}, create_if_missing: false })).toMatchObject({
    code: 'ENOENT',
  });
  expect(await failBlock(mergeJsonState, { path, updates: {}, create_parents: false })).toMatchObject({
    code: 'ENOENT',
    applied: 'no',
  });
  expect(await runBlock(mergeJsonState, { path, updates: { a: 1 } })).toMatchObject({ created: true });
});

test('B17 blocks side by side never lose an update, under one path or two', async () => {
  const path = fresh('{}');
  const link = join(folder, 'linked');
  symlinkSync(folder, link);
  const other = join(link, path.slice(folder.length + 1));
  await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      runBlock(mergeJsonState, { path: index % 2 === 0 ? path : other, updates: { [`k${index}`]: index } }),
    ),
  );
  const { data } = await runBlock(readJsonState, { path });
  expect(Object.keys(data as object)).toHaveLength(50);
});

test('B17 a failed change does not stop the next one, and leaves nothing behind', async () => {
  const path = fresh('{}');
  const [failed, done] = await Promise.allSettled([
    runBlock(mergeJsonState, { path, updates: { a: 1 } }, { signal: AbortSignal.abort(new Error('over')) }),
    runBlock(mergeJsonState, { path, updates: { b: 2 } }),
  ]);
  expect([failed.status, done.status]).toEqual(['rejected', 'fulfilled']);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ b: 2 });
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

test('B12 a symbolic link is not written through', async () => {
  const target = fresh('{"a":1}');
  const link = `${target}.link`;
  symlinkSync(target, link);
  for (const failure of [
    await failBlock(writeJsonState, { path: link, data: {} }),
    await failBlock(mergeJsonState, { path: link, updates: {} }),
  ])
    expect(failure).toMatchObject({ code: 'PATH_REFUSED', applied: 'no' });
  expect(readFileSync(target, 'utf8')).toBe('{"a":1}');
});
