import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitsPattern } from './fits-pattern.ts';

const hostile: readonly string[] = ['^(a+)+$', '^(?:a|a)*$', '^a*a*a*a*a*a*b$'];

test.each(hostile)('W3 a pattern that takes ages on a text is given up, and says so: %s', (pattern) => {
  const text = `${'a'.repeat(pattern.includes('b') ? 2_000 : 50)}!`;
  expect(() => fitsPattern(text, pattern, 'u')).toThrow('takes over 1000 ms on this text');
});

test('W3 all other patterns mean what they mean', () => {
  const pattern = fc.constantFrom(
    '^a+$',
    '(a|b)+c',
    '[)]*',
    String.raw`\)+a`,
    '^(?:ab)*$',
    'a{2,3}',
    '(?<n>a)\\k<n>',
    '',
  );
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ')', '\n'), maxLength: 40 });
  fc.assert(
    fc.property(text, pattern, fc.constantFrom('', 'u', 'i'), (value, source, flags) => {
      expect(fitsPattern(value, source, flags)).toBe(new RegExp(source, flags).test(value));
    }),
  );
  expect(() => fitsPattern('a', '(', 'u')).toThrow(/Invalid regular expression/);
  expect(() => fitsPattern('a', '(b)+(', 'u')).toThrow(/Invalid regular expression/);
});
