/** Which runs write snapshots while they go on (C4). */
import { expect, test } from 'vitest';
import type { EdgeDefinition } from '../../graph/graph.ts';
import type { Store } from '../../ports/store.ts';
import { createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';

/** How many snapshots a run of 200 checkpoints of 1 KiB writes that carries a state of so many bytes. */
async function snapshotsOf(stateBytes: number): Promise<number> {
  const { store, clock } = createBench();
  let written = 0;
  const counting: Store = {
    ...store,
    writeSnapshot: async (key, snapshot) => {
      written += 1;
      await store.writeSnapshot(key, snapshot);
    },
  };
  const again: EdgeDefinition = {
    from: 'a',
    to: 'a',
    condition: { text: 'again', evaluate: ({ outcome: { output } }) => (output as { visit: number }).visit < 200 },
  };
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', async ({ visit }) => {
        // Commits land meanwhile.
        await clock.sleep(1);
        return { visit, text: 'x'.repeat(1_024) };
      }),
    ],
    [...edges('> a', 'a >'), again],
    { policies: { checkpoint: 'every_node' } },
  );
  // Held in the state itself, and in no blob.
  const bench = createBench({ store: counting, clock, bounds: { inlineBytes: 1e9 } });
  const result = await runToRest(bench.engine, graph, { text: 'y'.repeat(stateBytes) });
  expect([result.status, result.seq >= 200]).toEqual(['completed', true]);
  return written;
}

test('C4 a snapshot is written when reading the deltas costs several times the state, and not before', async () => {
  expect(await snapshotsOf(1)).toBeGreaterThan(1);
  expect(await snapshotsOf(1_000_000)).toBe(0);
});
