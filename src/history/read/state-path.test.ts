import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatPath, parsePath } from './state-path.ts';

const character = fc.constantFrom(...'ab.\\=é\ud800\udc00\n\0'.split(''), '😀');

test('H1 a dotted path is read back as it was written, whatever its keys hold', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1, unit: character }), { minLength: 1, maxLength: 5 }), (keys) => {
      expect(parsePath(formatPath(keys))).toEqual(keys);
    }),
  );
});

test.each(['', '.', 'a..b', 'a.', '.a'])('P6 path %j is refused', (path) => {
  expect(() => parsePath(path)).toThrow(/empty key/);
});
