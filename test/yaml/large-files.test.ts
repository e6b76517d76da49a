/** Checks take time in proportion to the size of a file, whatever is in it (Y14). */
import { expect, test } from 'vitest';
import { growingFiles } from '../../bench/rows/large-files.ts';
import { checkWorkflow } from '../../src/dialects/yaml/index.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import { leastCpuRatio } from '../support/cpu-ratio.ts';

const options = { nodeTypes: createNodeTypes({}) };

test.each(Object.entries(growingFiles))(
  'Y14 sixteen times the size costs nothing like its square: %s',
  async (_, make) => {
    const [small, large] = [make(125), make(2_000)];
    const check = (text: string) => () => checkWorkflow(text, options);
    // Time in proportion gives 1, and the square 16.
    expect(await leastCpuRatio(check(large), check(small), { times: 16, bound: 5 })).toBeLessThan(5);
  },
  60_000,
);

test('Y14 of tens of thousands of faults a thousand are told, and how many more there are', () => {
  const keys = Array.from({ length: 20_000 }, (_, index) => `k${index}: 1`).join('\n');
  const { workflow, violations } = checkWorkflow(`name: w\n${keys}\n`, options);
  expect(workflow).toBeUndefined();
  expect(violations).toHaveLength(1_001);
  // The workflow has no blocks either.
  expect(violations.at(-1)?.message).toBe('and 19001 errors more, which are not listed');
});

test('Y14 a name as long as the file is not told whole', () => {
  const long = 'x'.repeat(100_000);
  const texts = [
    `{id: a, type: ${long}}`,
    `{id: a, type: EchoBlock, depends_on: [${long}], inputs: {message: "\${${long}}"}}`,
  ];
  for (const text of [`a: *${long}`, ...texts.map((block) => `name: w\nblocks:\n  - ${block}\n`)]) {
    const { violations } = checkWorkflow(text, options);
    expect(violations.length).toBeGreaterThan(0);
    for (const { message, fix } of violations) expect(Math.max(message.length, fix.length)).toBeLessThan(1_000);
  }
});
