/** Long lists in YAML workflows: others of the process have their turn while their items are gone through. */
import { expect, test } from 'vitest';
import { createBench, runToRest } from '../engine-kit.ts';
import { loadFileDialects } from '../../src/app/workflows/file-dialects.ts';
import { scale } from '../support/scale.ts';

test('E1.4 a for_each over a long list lets timers fire, whether its items run or are skipped', async () => {
  const dialect = await loadFileDialects({ file: undefined }, []);
  for (const [count, more] of [
    [scale(4_000, 100_000), ''],
    [scale(20_000, 100_000), ', condition: "${each.value < 0}"'],
  ] as const) {
    const text = `name: long\nblocks:\n  - { id: e, type: EchoBlock, for_each: "\${range(${count})}"${more}, inputs: { message: "\${each.value}" } }\n`;
    const { graph } = dialect.readWorkflow(text, { ...dialect.options, source: 'long.yaml' });
    let turns = 0;
    const beat = setInterval(() => (turns += 1), 1);
    try {
      expect((await runToRest(createBench().engine, graph)).status).toBe('completed');
    } finally {
      clearInterval(beat);
    }
    expect(turns).toBeGreaterThan(2);
  }
});
