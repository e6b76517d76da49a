/** Answers of models as JSON: code fences around them, and answers that run away. */
import { expect, test } from 'vitest';
import { readAnswer } from './standard-schema.ts';

const schema = { type: 'object' };

test.each([
  ['{"a": 1}'],
  [' \n{"a": 1}\n '],
  ['```json\n{"a": 1}\n```'],
  [' ```\n{"a": 1}``` \n'],
  ['```JSON\n\n{"a": 1}\n \n```'],
])('B52 the value of %j, whatever fence is around it', async (text) => {
  expect(await readAnswer(text, schema)).toEqual({ value: { a: 1 } });
});

test.each([['```json {"a": 1}```'], ['```\n'], ['```\n```'], ['``````'], ['{"a": 1}\n```'], ['```js2\n{}\n```']])(
  'B52 %j is no JSON',
  async (text) => {
    expect(await readAnswer(text, schema)).toMatchObject({ fault: expect.stringContaining('it is no JSON') });
  },
);

test('B52 A7 an answer that ends in megabytes of white space takes time in proportion to its length', async () => {
  const flood = ' \n'.repeat(2_000_000);
  for (const text of [`\`\`\`json\n{"a": 1}${flood}x`, `\`\`\`\n{"a":${flood}`])
    expect(await readAnswer(text, schema)).toMatchObject({ fault: expect.stringContaining('it is no JSON') });
  expect(await readAnswer(`\`\`\`json\n{"a": 1}${flood}\`\`\``, schema)).toEqual({ value: { a: 1 } });
});
