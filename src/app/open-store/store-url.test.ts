import { expect, test } from 'vitest';
import { choosePlace, parseStoreUrl } from './store-url.ts';

const sqlite = (path: string, blobs: string, isDefault = false): unknown => ({
  kind: 'sqlite',
  path,
  blobs,
  isDefault,
});

test('O3 the default store lies under the working folder', () => {
  expect(parseStoreUrl(undefined, '/here')).toEqual(sqlite('/here/.cairn/cairn.db', '/here/.cairn/blobs', true));
});

test('O3 a store is named by its URL or by a path', () => {
  expect(parseStoreUrl('memory:', '/here')).toEqual({ kind: 'memory' });
  expect(parseStoreUrl('sqlite:runs.db', '/here')).toEqual(sqlite('/here/runs.db', '/here/runs.blobs'));
  expect(parseStoreUrl('sqlite:///data/runs.db', '/here')).toEqual(sqlite('/data/runs.db', '/data/runs.blobs'));
  expect(parseStoreUrl('other/.cairn/cairn.db', '/here')).toEqual(
    sqlite('/here/other/.cairn/cairn.db', '/here/other/.cairn/blobs'),
  );
});

test('O3 a server is named by whoever calls, never by a configuration in a folder', () => {
  const url = 'postgres://ann@db/flows';
  expect(choosePlace(url, undefined, '/here')).toEqual({ kind: 'postgres', url });
  expect(() => choosePlace(undefined, url, '/here')).toThrow(/this machine only/);
});

test.each([
  ['mysql://x/y', /mysql are not known/],
  ['sqlite:', /needs the path/],
  ['sqlite:folder/', /needs the path/],
  ['sqlite:..', /\.\. is a folder/],
])('P6 %s is refused', (url, message) => {
  expect(() => parseStoreUrl(url, '/here')).toThrow(message);
});
