/** Cleaning up beside another process that removes and prunes the same runs. */
import { expect, test } from 'vitest';
import { CairnError, openHistory, type History } from '../../index.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { buildStore } from '../../../test/support/built-store.ts';
import { collect } from '../../../test/support/small-graphs.ts';
import { createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';

/** A store before whose n-th call another process acts once. `calls` says how many calls there were. */
function withGuest(store: Store, nth: number, act: () => Promise<unknown>): { store: Store; calls: () => number } {
  let calls = 0;
  const guested = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        calls += 1;
        if (calls === nth) await act();
        return (value as (...args: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  return { store: guested, calls: () => calls };
}

const steps = Array.from({ length: 8 }, (_, index) => `n${index}`);
const chain = graphOf(
  'chain',
  steps.map((id) => node(id, 'read', () => id)),
  edges('> n0', ...steps.map((id, index) => `${id} > ${steps[index + 1] ?? ''}`)),
);

/** Two finished runs of some ten checkpoints, and a fork of one. */
async function threeRuns(): Promise<{ readonly store: Store; readonly blobs: BlobStore }> {
  const store = createMemoryStore();
  const { engine, options } = createBench({ store });
  for (const runId of ['a', 'b']) await runToRest(engine, chain, {}, runId);
  engine.know(chain);
  await engine.fork({ runId: 'a', seq: 5 }, { runId: 'fork' });
  await engine.close();
  return { store, blobs: options.blobs };
}

const guests: Readonly<Record<string, (history: History) => Promise<unknown>>> = {
  'removes a run': (history) => history.remove('b', { withForks: true }),
  'removes a run with its forks': (history) => history.remove('a', { withForks: true }),
  'prunes a run': (history) => history.prune('b', { keepEvery: 7 }),
  'cleans up': (history) => history.cleanUp({ max_per_workflow: 2, ttl_seconds: 1e11 }),
};

const works: Readonly<Record<string, (history: History) => Promise<unknown>>> = {
  'cleans up': (history) => history.cleanUp({ max_per_workflow: 3, ttl_seconds: 1e11 }),
  'removes what is old': (history) => history.cleanUp({ ttl_seconds: 60 }),
  'lists checkpoints': (history) => collect(history.checkpoints()),
};

/** What the guest came for may be gone as well. */
function passOver(error: unknown): void {
  if (!CairnError.is(error, 'RUN_NOT_FOUND', 'RUN_EXPIRED')) throw error;
}

const cases = Object.keys(works).flatMap((work) => Object.keys(guests).map((guest) => [work, guest] as const));

test.each(cases)('D17 whoever %s passes over what another process that %s takes away', async (work, guest) => {
  const failed: string[] = [];
  for (let nth = 1; nth < 2000; nth += 1) {
    const plain = await threeRuns();
    const other = openHistory(plain.store, { blobs: plain.blobs });
    const { store, calls } = withGuest(plain.store, nth, () => guests[guest]!(other).catch(passOver));
    await works[work]!(openHistory(store, { blobs: plain.blobs })).catch((error: unknown) =>
      failed.push(`call ${nth}: ${String(error)}`),
    );
    expect((await other.verify()).isValid).toBe(true);
    if (calls() < nth) break;
  }
  expect(failed).toEqual([]);
});

const reads: Readonly<Record<string, (history: History) => Promise<unknown>>> = {
  show: (history) => history.show('b@3'),
  diff: (history) => history.diff('b@2', 'b'),
  log: (history) => collect(history.log('b')),
  blame: (history) => history.blame('b', 'outputs.n1'),
  'post-mortem': (history) => history.postMortem('b'),
};

test.each(Object.keys(reads))(
  'D17 %s of a run that another process removes meanwhile says that it is gone, not that it is damaged',
  async (read) => {
    const codes = new Set<string>();
    for (let nth = 1; nth < 200; nth += 1) {
      const plain = await threeRuns();
      const other = openHistory(plain.store, { blobs: plain.blobs });
      const { store, calls } = withGuest(plain.store, nth, () => other.remove('b'));
      await reads[read]!(openHistory(store, { blobs: plain.blobs })).catch((error: unknown) =>
        codes.add(CairnError.is(error) ? error.code : String(error)),
      );
      if (calls() < nth) break;
    }
    const gone = ['CHECKPOINT_NOT_FOUND', 'RUN_EXPIRED'];
    expect([...codes].filter((code) => !gone.includes(code))).toEqual(['RUN_NOT_FOUND']);
  },
);

test('C5 a clean-up of all graphs sweeps large values that were too young when their run was removed', async () => {
  const dayMs = 24 * 3_600_000;
  let now = 0;
  const blobs = createMemoryBlobs(() => now);
  const { engine, store } = createBench({ blobs });
  const large = graphOf('large', [node('a', 'read', () => 'x'.repeat(300_000))], edges('> a', 'a >'));
  await runToRest(engine, large, {}, 'r');
  await engine.close();
  const history = openHistory(store, { blobs });
  expect((await history.remove('r')).blobs).toBe(0);
  const count = async (): Promise<number> => (await blobs.sweep('default')).rows.length;
  expect(await count()).toBeGreaterThan(0);
  now = 2 * dayMs;
  expect((await history.cleanUp({}, { dryRun: true })).blobs).toBe(0);
  expect((await history.cleanUp({}, { graphId: 'large' })).blobs).toBe(0);
  expect((await history.cleanUp({})).blobs).toBeGreaterThan(0);
  expect(await count()).toBe(0);
});

test('D25 of many runs a report names the first 1,000 and counts all, in a dry run as many', async () => {
  const store = createMemoryStore();
  await buildStore(store, 1_200, Date.now() - 1_000 * 24 * 3_600_000);
  const history = openHistory(store);
  const [ended, all] = [await collect(history.list({ status: ['completed', 'failed'] })), 1_200];
  expect(ended.length).toBeGreaterThan(1_000);
  // Each graph keeps its newest checkpoint, and each run its last.
  const few = { max_per_workflow: 1, keep_paused: false, ttl_seconds: 1e11 };
  const shortened = await history.cleanUp(few, { dryRun: true });
  expect(shortened.counts).toMatchObject({ graphs: 8, removed: 0, pruned: all });
  expect(shortened.pruned).toHaveLength(1_000);
  expect(shortened.counts.checkpoints).toBeGreaterThan(2 * all);

  const settings = { ...few, ttl_seconds: 60 };
  const dry = await history.cleanUp(settings, { dryRun: true });
  expect(dry.counts).toMatchObject({ graphs: 8, removed: ended.length, pruned: all - ended.length });
  expect([dry.removed.length, dry.pruned.length]).toEqual([1_000, all - ended.length]);
  const beats: number[] = [];
  const done = await history.cleanUp(settings, { beat: (removed) => void beats.push(removed) });
  expect(done.counts).toMatchObject({ removed: ended.length, pruned: all - ended.length });
  expect(done.removed).toHaveLength(1_000);
  expect(beats.at(-1)).toBe(ended.length);
  expect(await collect(history.list())).toHaveLength(all - ended.length);
});
