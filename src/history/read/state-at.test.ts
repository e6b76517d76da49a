/** What is told of a path that leads nowhere. */
import { expect, test } from 'vitest';
import { pickPart } from './state-at.ts';
import { parsePath } from './state-path.ts';

const state = { scratch: { 'tool.output': { lines: [1] }, plan: 'x' } };

test.each([
  ['scratch.tool.output', 'Write scratch.tool\\.output: a dot within a key has a backslash before it.'],
  ['scratch.tool.output.lines', 'Write scratch.tool\\.output: a dot within a key has a backslash before it.'],
  ['scratch.tool', 'scratch has: tool\\.output, plan.'],
  ['scratch.plan.title', 'scratch.plan has no parts.'],
  ['plan', 'The state has: scratch.'],
])('P6 of %s, which is not there, it is said what there is: %s', (path, hint) => {
  const missing = path.startsWith('scratch.plan') ? path : path.split('.').slice(0, 2).join('.');
  expect(() => pickPart(state, parsePath(path), 'r@1')).toThrow(
    expect.objectContaining({ code: 'USAGE_INVALID', data: { reason: `r@1 has no ${missing}`, hint } }) as Error,
  );
});

test('P6 the path that is proposed leads there', () => {
  expect(pickPart(state, parsePath('scratch.tool\\.output.lines.0'), 'r@1')).toBe(1);
});
