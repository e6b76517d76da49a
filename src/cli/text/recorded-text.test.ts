import { expect, test } from 'vitest';
import { formatRecorded, formatValue } from './recorded-text.ts';
import { widthOf } from './width.ts';

test('H1 what was recorded is told by path and value, steps with what they cost', () => {
  const lines = formatRecorded(
    {
      values: [
        { path: ['outputs', 'draft'], after: { response: 'Dear Ada', model: 'fast' } },
        { path: ['scratch', 'a.b'], before: 1 },
      ],
      steps: [
        { path: ['draft', 'call'], kind: 'step', status: 'done', value: 'Dear', spent: { tokens: 12 } },
        { path: ['draft', 'send'], kind: 'step', status: 'failed', error: { message: 'no line' } },
        { path: ['ask', 'question'], kind: 'ask', status: 'open' },
      ],
    },
    80,
  );
  expect(lines).toEqual([
    '  outputs.draft: {"response":"Dear Ada","model":"fast"}',
    String.raw`  scratch.a\.b: gone`,
    '  step draft/call for 12 tokens: "Dear"',
    '  step draft/send failed: {"message":"no line"}',
    '  question ask/question: waits',
  ]);
});

test('H1 a value that does not fit the line is told by its parts, a text wrapped at its words and cut', () => {
  const value = {
    text: 'word '.repeat(40).trim(),
    lines: 'a\n'.repeat(30),
    n: 1,
    deep: { of: { of: { of: 'x'.repeat(90) } } },
  };
  const lines = formatValue('outputs.draft', value, 40);
  expect(lines.slice(0, 4)).toEqual([
    '  outputs.draft:',
    '    text:',
    `      ${'word '.repeat(6)}word`,
    `      ${'word '.repeat(6)}word`,
  ]);
  expect(lines).toContain('      … 23 lines more');
  expect(lines).toContain('    n: 1');
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(40);
  const many = formatValue(
    'list',
    Array.from({ length: 40 }, (_, index) => index),
    40,
  );
  expect(many.at(-1)).toBe('    … and 28 more');
  expect(many).toHaveLength(14);
});
