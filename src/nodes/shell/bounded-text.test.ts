import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBoundedText } from './bounded-text.ts';

const keep = (
  limitBytes: number,
  pieces: readonly string[],
): { readonly text: string; readonly omittedBytes: number } => {
  const kept = createBoundedText(limitBytes);
  for (const piece of pieces) kept.push(piece);
  return kept.end();
};

test('E8 a text within the limit is kept whole', () => {
  expect(keep(10, ['hello', 'world'])).toEqual({ text: 'helloworld', omittedBytes: 0 });
});

test('E8 of a longer text the head and the tail are kept, and the rest is counted', () => {
  expect(keep(6, ['abcdef', 'ghijkl'])).toEqual({ text: 'abc\n[6 bytes left out]\njkl', omittedBytes: 6 });
  expect(keep(6, ['ab', 'c', 'd', 'ef', 'gh'])).toEqual({ text: 'abc\n[2 bytes left out]\nfgh', omittedBytes: 2 });
});

test('E8 head and tail are pieces of the text, no character is split, and the count is right', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '€', '🪨', '\n') });
  fc.assert(
    fc.property(fc.array(text), fc.nat(40), (pieces, limitBytes) => {
      const whole = pieces.join('');
      const { text: kept, omittedBytes } = keep(limitBytes, pieces);
      const [head = '', tail = ''] = omittedBytes === 0 ? [kept] : kept.split(`\n[${omittedBytes} bytes left out]\n`);
      const keptBytes = Buffer.byteLength(head + tail);
      expect([whole.startsWith(head), whole.endsWith(tail)]).toEqual([true, true]);
      expect(keptBytes + omittedBytes).toBe(Buffer.byteLength(whole));
      expect(keptBytes).toBeLessThanOrEqual(Math.max(limitBytes, omittedBytes === 0 ? keptBytes : 0));
    }),
  );
});

test('E8 many pieces keep no more than a few times the limit', () => {
  const piece = 'x'.repeat(1_000);
  const { text, omittedBytes } = keep(
    2_000,
    Array.from({ length: 1_000 }, () => piece),
  );
  expect(text).toBe(`${piece}\n[998000 bytes left out]\n${piece}`);
  expect(omittedBytes).toBe(998_000);
});
