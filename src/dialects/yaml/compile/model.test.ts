/** Random workflows against a plain model of what they mean. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { runText } from '../../../../test/yaml-kit.ts';
import { modelFates, modelText, randomBlocks, statusOf, type Fate } from '../../../../test/yaml-model.ts';

const byId = ([a]: readonly [string, Fate], [b]: readonly [string, Fate]): number => (a < b ? -1 : 1);

test('Y8 any workflow does what the model says', async () => {
  await fc.assert(
    fc.asyncProperty(randomBlocks, async (blocks) => {
      const { result, outputs } = await runText(modelText(blocks));
      const { fates, hasFailed } = modelFates(blocks);
      expect(result.status).toBe(hasFailed ? 'failed' : 'completed');
      expect(outputs).toEqual(
        hasFailed ? undefined : Object.fromEntries([...fates].map(([id, fate]) => [id, statusOf(fate)])),
      );
      // A run that fails starts nothing any more, so not every block is settled; what is settled is as the model has it.
      const settled = [...result.failed.map((id) => [id, 'failed']), ...result.skipped.map((id) => [id, 'skipped'])];
      const completed = Object.keys(result.state.outputs).filter((id) => id !== 'outputs');
      const seen = new Map([...settled, ...completed.map((id) => [id, 'completed'])] as [string, Fate][]);
      const settles = (fate: Fate): Fate => (fate === 'partial' ? 'completed' : fate);
      const expected = [...fates]
        .map(([id, fate]) => [id, settles(fate)] as const)
        .filter(([id]) => !hasFailed || seen.has(id));
      expect([...seen].toSorted(byId)).toEqual(expected.filter(([id]) => id !== 'outputs').toSorted(byId));
    }),
    { numRuns: 150 },
  );
}, 60_000);
