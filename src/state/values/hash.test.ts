import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { hashParts, hashText } from './canonical-text.ts';

test('X1 a hash is sha-256 of the UTF-8 text, as base64url', () => {
  expect(hashText('héllo')).toBe(createHash('sha256').update('héllo', 'utf8').digest('base64url'));
  expect(hashText('héllo')).toHaveLength(43);
});

test('X1 parts are prefixed with their length, so that no two lists run together', () => {
  const lists = [[], [''], ['', ''], ['ab'], ['a', 'b'], ['1:a'], ['a', '1:b'], ['a1:b'], ['a', 'b', '']];
  expect(new Set(lists.map(hashParts)).size).toBe(lists.length);
});
