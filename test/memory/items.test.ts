/** What an item that has ended keeps in memory while the others of its list are at work. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scale } from '../support/scale.ts';

test(
  'W6.12 an item of a map or a for_each that has ended is in memory as its record alone',
  { timeout: 600_000 },
  () => {
    const script = join(import.meta.dirname, 'hold-items.ts');
    const bytes = JSON.parse(
      execFileSync(process.execPath, ['--expose-gc', '--no-warnings', script, String(scale(3_000, 20_000))], {
        encoding: 'utf8',
      }),
    ) as Readonly<Record<string, number>>;
    // A step's record is some 500 bytes, a child run's 1,000 to 2,000. A child's frame, plan and channels are 7,000 more.
    const most: Readonly<Record<string, number>> = { function: 2_500, graph: 3_500, block: 2_000, workflow: 4_500 };
    expect(Object.keys(bytes)).toEqual(Object.keys(most));
    for (const [kind, held] of Object.entries(bytes)) {
      expect([kind, held]).toEqual([kind, expect.toSatisfy((value: number) => value > 0 && value < (most[kind] ?? 0))]);
    }
  },
);
