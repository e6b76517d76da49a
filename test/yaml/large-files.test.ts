/** Checks take time in proportion to the size of a file, whatever is in it (Y14). */
import { expect, test } from 'vitest';
import { growingFiles } from '../../bench/rows/large-files.ts';
import { checkWorkflow } from '../../src/dialects/yaml/index.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';

const options = { nodeTypes: createNodeTypes({}) };

/** The least of a few, since others use the machine, too. */
function cpuMs(text: string): number {
  const measured = Array.from({ length: 2 }, () => {
    const before = process.cpuUsage();
    checkWorkflow(text, options);
    return process.cpuUsage(before).user / 1_000;
  });
  return Math.min(...measured);
}

test.each(Object.entries(growingFiles))(
  'Y14 sixteen times the size costs nothing like its square: %s',
  (_, make) => {
    cpuMs(make(100));
    const [small, large] = [cpuMs(make(125)), cpuMs(make(2_000))];
    // In proportion it would be 16, and with the square 256.
    expect(large / Math.max(small, 1)).toBeLessThan(80);
  },
  60_000,
);
