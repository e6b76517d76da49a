import { describe, expect, test } from 'vitest';
import { outcome } from '../../graph/contracts/node-contract.ts';
import type { Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { mayChangeState } from './shown-state.ts';

describe('E9 which ops a view shows', () => {
  const frame = ['frame'];
  const child = ['frame', 'nodes', 'sub', 'children', 'sub'];

  test.each([
    ['a channel', [['s', ['frame', 'channels', 'scratch', 'x'], 1]]],
    ['an item of a list', [['a', ['frame', 'channels', 'scratch', 'list'], [1]]]],
    ['the input', [['s', ['frame', 'input'], {}]]],
    ['the whole frame', [['s', ['frame'], {}]]],
    ['a record with an output', [['s', ['frame', 'nodes', 'a'], { status: 'completed', output: 1 }]]],
    ['a record that replaced another', [['s', ['frame', 'nodes', 'a'], { status: 'started', visits: 2 }]]],
    ['a record with a failure', [['s', ['frame', 'nodes', 'a'], { status: 'failed', error: 1 }]]],
    ['a record tried again', [['s', ['frame', 'nodes', 'a'], { status: 'started', attempt: 2 }]]],
    ['an error', [['s', ['frame', 'nodes', 'a', 'error'], 1]]],
    ['a record that is gone', [['d', ['frame', 'nodes', 'a']]]],
    ['an output of its steps', [['s', ['frame', 'nodes', 'a', 'outputOfSteps'], true]]],
    [
      'the second of two',
      [
        ['s', ['status'], 'paused'],
        ['s', ['frame', 'channels', 'scratch', 'x'], 1],
      ],
    ],
  ])('E9 %s', (_, ops) => {
    expect(mayChangeState(ops, frame)).toBe(true);
  });

  test.each([
    ['the status of the run', [['s', ['status'], 'paused']]],
    ['a wait', [['s', ['waits', 'w'], {}]]],
    ['a step', [['s', ['frame', 'nodes', 'a', 'steps', 's'], { kind: 'ask', output: 1 }]]],
    ['a first record without an output', [['s', ['frame', 'nodes', 'a'], { status: 'started', view: 1 }]]],
    ['writers', [['s', ['frame', 'writers', 'scratch.x'], ['a', 0]]]],
    ['a channel of a child', [['s', [...child, 'channels', 'scratch', 'x'], 1]]],
  ])('E9 not %s', (_, ops) => {
    expect(mayChangeState(ops, frame)).toBe(false);
  });

  test('E9 a child sees its own channels, and its parent replaced, but not its parent move', () => {
    expect(mayChangeState([['s', [...child, 'channels', 'scratch', 'x'], 1]], child)).toBe(true);
    expect(mayChangeState([['s', ['frame', 'nodes', 'sub'], {}]], child)).toBe(true);
    expect(mayChangeState([['s', ['frame', 'channels', 'scratch', 'x'], 1]], child)).toBe(false);
    expect(mayChangeState([['s', ['frame', 'nodes', 'sub', 'children', 'other', 'input'], 1]], child)).toBe(false);
  });
});

/** A store that notes from which seq rows are read. */
function watchReads(store: Store): { readonly store: Store; readonly lowest: () => number } {
  let lowest = Number.POSITIVE_INFINITY;
  return {
    store: {
      ...store,
      readCheckpoints: (key, range) => {
        lowest = Math.min(lowest, range.from);
        return store.readCheckpoints(key, range);
      },
      readSnapshot: async (key, atOrBefore) => {
        const snapshot = await store.readSnapshot(key, atOrBefore);
        if (snapshot !== undefined) lowest = Math.min(lowest, snapshot.seq);
        return snapshot;
      },
    },
    lowest: () => lowest,
  };
}

/** Two nodes side by side: one asks, the other writes what the first one reads, after the question if told so. */
function askBeside(isLate: boolean): {
  readonly graph: ReturnType<typeof graphOf>;
  readonly seen: unknown[];
} {
  const seen: unknown[] = [];
  const graph = graphOf(
    'g',
    [
      node('early', 'pure', () => outcome({ scratch: { x: 'early' } })),
      node('ask', 'human', (ctx) => {
        seen.push(ctx.state.scratch['x']);
        return ctx.ask({ prompt: 'ok?' });
      }),
      node('late', 'read', async (ctx) => {
        await ctx.step('wait', {}, () => new Promise((resolve) => setImmediate(() => setImmediate(resolve))));
        return isLate ? outcome({ scratch: { x: 'late' } }) : undefined;
      }),
    ],
    edges('> early', 'early > ask', 'early > late', 'ask >', 'late >'),
  );
  return { graph, seen };
}

test.each([true, false])(
  'E9 an activation that left a wait sees on resume what it saw, whether the state has moved since (%s)',
  async (isLate) => {
    const first = createBench();
    const { graph, seen } = askBeside(isLate);
    const paused = await runToRest(first.engine, graph);
    expect(paused.state.scratch['x']).toBe(isLate ? 'late' : 'early');
    await first.engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
    await first.engine.close();
    const done = await resumeToRest(createBench({ store: first.store }).engine, paused.runId, graph);
    expect(done.status).toBe('completed');
    expect(seen).toEqual(['early', 'early']);
  },
);

test('E9 a pinned view costs no second load where nothing it shows has changed', async () => {
  const kept = createMemoryStore();
  const first = createBench({ store: kept });
  const graph = graphOf(
    'g',
    [
      ...Array.from({ length: 30 }, (_, index) => node(`n${index}`, 'pure', () => outcome({ scratch: { x: index } }))),
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'ok?' })),
    ],
    edges('> n0', ...Array.from({ length: 29 }, (_, index) => `n${index} > n${index + 1}`), 'n29 > ask', 'ask >'),
    { policies: { checkpoint: 'every_node' } },
  );
  const paused = await runToRest(first.engine, graph);
  await first.engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  await first.engine.close();
  const snapshot = await kept.readSnapshot({ tenant: 'default', runId: paused.runId }, paused.seq);
  expect(snapshot?.seq).toBe(paused.seq);
  const watched = watchReads(kept);
  const done = await resumeToRest(createBench({ store: watched.store }).engine, paused.runId, graph);
  expect(done.status).toBe('completed');
  // The snapshot at the pause, and the row that the first one after the view continues.
  expect(watched.lowest()).toBeGreaterThanOrEqual(paused.seq - 2);
});
