import { expect, test } from 'vitest';
import { parseStoreUrl } from './store-url.ts';

const sqlite = (path: string, blobs: string, isDefault = false): unknown => ({
  kind: 'sqlite',
  path,
  blobs,
  isDefault,
});

test('O3 the default store lies under the working folder', () => {
  expect(parseStoreUrl(undefined, '/work')).toEqual(sqlite('/work/.cairn/cairn.db', '/work/.cairn/blobs', true));
});

test('O3 a store is named by its URL or by a path', () => {
  expect(parseStoreUrl('memory:', '/work')).toEqual({ kind: 'memory' });
  expect(parseStoreUrl('sqlite:runs.db', '/work')).toEqual(sqlite('/work/runs.db', '/work/runs.blobs'));
  expect(parseStoreUrl('sqlite:///data/runs.db', '/work')).toEqual(sqlite('/data/runs.db', '/data/runs.blobs'));
  expect(parseStoreUrl('other/.cairn/cairn.db', '/work')).toEqual(
    sqlite('/work/other/.cairn/cairn.db', '/work/other/.cairn/blobs'),
  );
});

test.each([
  ['postgres://x/y', /postgres are not known/],
  ['sqlite:', /needs the path/],
  ['sqlite:folder/', /needs the path/],
])('P6 %s is refused', (url, message) => {
  expect(() => parseStoreUrl(url, '/work')).toThrow(message);
});
