import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { anySteps, ModelHistory, writeHistory, type ModelRun } from '../../../test/history/model-history.ts';
import { CairnError } from '../../errors.ts';
import type { Store } from '../../ports/store.ts';
import type { Change } from '../stored/change.ts';
import { loadState, readHistory } from '../load/load.ts';
import { planPrune, pruneRun } from './prune.ts';
import { verifyRun } from '../verify/verify.ts';

/** Seqs of the checkpoints that load, to their own state; undefined for one that was pruned. */
async function loadSound(run: ModelRun, seq: number): Promise<number | undefined> {
  const { store, blobs } = run.history;
  try {
    const { root, checksum } = await loadState(store, blobs, await run.row(), seq);
    expect(root).toEqual(run.states.get(seq));
    expect(Buffer.from(checksum)).toEqual(Buffer.from(run.links.get(seq)!));
    return seq;
  } catch (error) {
    if (CairnError.is(error, 'CHECKPOINT_PRUNED')) return undefined;
    throw error;
  }
}

async function checkStates(run: ModelRun): Promise<(number | undefined)[]> {
  const seqs = Array.from({ length: run.head + 1 }, (_, seq) => loadSound(run, seq));
  return (await Promise.all(seqs)).filter((seq) => seq !== undefined);
}

const anyPrune = fc.record({
  keepEvery: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
  keepLast: fc.integer({ min: 0, max: 3 }),
});

test('C8 pruning keeps the state of every checkpoint that is kept, and the chain', async () => {
  let removed = 0;
  await fc.assert(
    fc.asyncProperty(anySteps, fc.array(fc.tuple(fc.nat(), anyPrune), { maxLength: 4 }), async (steps, prunings) => {
      const runs = await writeHistory(steps);
      const { store, blobs } = runs[0]!.history;
      for (const [pick, { keepEvery, keepLast }] of prunings) {
        const run = runs[pick % runs.length]!;
        const needed = [run.head, ...runs.flatMap((fork) => (fork.parent === run ? [fork.first - 1] : []))];
        const before = await run.row();
        const report = await pruneRun(store, blobs, run.claim, before, {
          keepLast,
          ...(keepEvery === undefined ? {} : { keepEvery }),
        });
        removed += report.removed;
        for (const each of runs) {
          expect(await checkStates(each)).toContain(each.head);
          const found = await verifyRun(store, blobs, await each.row());
          expect(found.faults).toEqual([]);
        }
        expect(await checkStates(run)).toEqual(expect.arrayContaining(needed));
        await run.commit([['s', ['codeHash'], `after ${run.head}`]]);
      }
    }),
    { numRuns: 60 },
  );
  expect(removed).toBeGreaterThan(10);
}, 30_000);

const settle = (effect: string): Change => [{ kind: 'settle', node: ['n'], effect }];

async function seqsOf(run: ModelRun): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { checkpoint } of readHistory(run.history.store, await run.row(), { from: 0, to: run.head }))
    seqs.push(checkpoint.seq);
  return seqs;
}

test('C8 outcomes of write, external and human work stay as long as a checkpoint before them is kept', async () => {
  const [run] = await writeHistory([]);
  const { store, blobs } = run!.history;
  for (const effect of ['pure', 'write', 'pure', 'pure', 'external', 'pure', 'read', 'human', 'pure', 'pure', 'pure']) {
    await run!.commit([['s', ['codeHash'], `${run!.head}`]], settle(effect));
  }
  await store.tagCheckpoint(await run!.row(), { name: 'start', seq: 0 });
  const report = await pruneRun(store, blobs, run!.claim, await run!.row());
  expect(await seqsOf(run!)).toEqual([0, 1, 2, 4, 5, 7, 8, 10, 11]);
  expect(report).toEqual({
    removed: 3,
    spans: [3, 6, 9].map((seq) => ({ from: seq, to: seq })),
    oldest: 0,
  });
  await store.removeTag(await run!.row(), 'start');
  const spans = [
    { from: 0, to: 2 },
    { from: 4, to: 5 },
    { from: 7, to: 8 },
    { from: 10, to: 10 },
  ];
  const planned = await planPrune(store, blobs, await run!.row());
  expect(planned).toEqual({ removed: 8, spans, oldest: 11 });
  expect(await seqsOf(run!)).toHaveLength(9);
  expect(await pruneRun(store, blobs, run!.claim, await run!.row())).toEqual(planned);
  expect(await seqsOf(run!)).toEqual([11]);
});

test('C8 what an open activation sees is kept, of forks too', async () => {
  const [run] = await writeHistory([]);
  const { history } = run!;
  for (let i = 0; i < 4; i++) await run!.commit([['s', ['codeHash'], `${i}`]]);
  await run!.commit([['s', ['frame', 'nodes', 'n'], { status: 'waiting', view: 2 }]]);
  const fork = await history.fork(run!, run!.head, 'fork');
  await run!.commit([['s', ['frame', 'nodes', 'n'], { status: 'completed', fired: [] }]]);
  for (let i = 0; i < 4; i++) await run!.commit([['s', ['codeHash'], `${i}`]]);
  await pruneRun(history.store, history.blobs, run!.claim, await run!.row());
  expect(await seqsOf(run!)).toEqual([2, 4, 5, 9, 10]);
  expect(await checkStates(fork)).toEqual([2, 4, 5, 6]);
});

const open = (view: number): unknown => ({ status: 'waiting', view });
const settled = { status: 'completed', view: 2, fired: [] };

test.each([
  ['by the head', 0],
  ['by a tagged checkpoint', 4],
])(
  'E9 the states that open activations see are kept: those seen %s, in child runs too, and so on back',
  async (_, after) => {
    const [run] = await writeHistory([]);
    const { store, blobs } = run!.history;
    const nodes = ['frame', 'nodes'];
    for (let i = 1; i <= 2; i++) await run!.commit([['s', ['codeHash'], `${i}`]]);
    await run!.commit([['s', [...nodes, 'n'], open(1)]]);
    for (let i = 4; i <= 6; i++) await run!.commit([['s', ['codeHash'], `${i}`]]);
    await run!.commit([
      ['s', [...nodes, 'done'], settled],
      ['d', [...nodes, 'n']],
      // What is open in a child run of a child run sees 5; in 5, n is open and sees 1.
      [
        's',
        [...nodes, 'm'],
        {
          status: 'waiting',
          children: { c: { nodes: { d: { ...(open(7) as object), children: { e: { nodes: { x: open(5) } } } } } } },
        },
      ],
    ]);
    expect(run!.head).toBe(7);
    for (let i = 0; i < after; i++) await run!.commit([['s', nodes, {}]]);
    if (after > 0) await store.tagCheckpoint(await run!.row(), { name: 'waiting', seq: 7 });
    await pruneRun(store, blobs, run!.claim, await run!.row());
    const kept = await seqsOf(run!);
    expect(kept.filter((seq) => seq <= 7)).toEqual([1, 4, 5, 6, 7]);
    expect(await checkStates(run!)).toEqual(kept);
  },
);

test('E9 what open activations of forks see is kept in the run they were forked from, and so on back', async () => {
  const [run] = await writeHistory([]);
  const { history } = run!;
  for (let i = 1; i <= 2; i++) await run!.commit([['s', ['codeHash'], `${i}`]]);
  await run!.commit([['s', ['frame', 'nodes', 'n'], open(1)]]);
  await run!.commit([['s', ['frame', 'nodes', 'n'], settled]]);
  for (let i = 5; i <= 7; i++) await run!.commit([['s', ['codeHash'], `${i}`]]);
  // Nothing is open at the fork point; the fork, and a fork of it, begin what sees a state of the first run, in which n is open.
  const fork = await history.fork(run!, 7, 'fork');
  const second = await history.fork(fork, fork.head, 'second');
  await second.commit([['s', ['frame', 'nodes', 'late'], open(3)]]);
  await run!.commit([['s', ['codeHash'], 'end']]);
  await pruneRun(history.store, history.blobs, run!.claim, await run!.row());
  expect(await seqsOf(run!)).toEqual([1, 2, 3, 6, 7, 8]);
  expect(await checkStates(second)).toEqual([1, 2, 3, 6, 7, 8, 9, 10]);
});

test('C8 a pruned checkpoint names what remains', async () => {
  const [run] = await writeHistory([]);
  const { store, blobs } = run!.history;
  for (let i = 0; i < 9; i++) await run!.commit([['s', ['codeHash'], `${i}`]]);
  await pruneRun(store, blobs, run!.claim, await run!.row(), { keepEvery: 4 });
  await expect(loadState(store, blobs, await run!.row(), 2)).rejects.toMatchObject({
    code: 'CHECKPOINT_PRUNED',
    data: { remains: `${run!.key}.3` },
  });
  await pruneRun(store, blobs, run!.claim, await run!.row());
  await expect(loadState(store, blobs, await run!.row(), 4)).rejects.toMatchObject({
    code: 'CHECKPOINT_PRUNED',
    data: { remains: `${run!.key}.9` },
  });
});

test('O1 pruning without the claim is refused', async () => {
  const [run] = await writeHistory([]);
  const { store, blobs } = run!.history;
  for (let i = 0; i < 3; i++) await run!.commit([['s', ['codeHash'], `${i}`]]);
  const stale = { ...run!.claim, token: run!.claim.token - 1 };
  await expect(pruneRun(store, blobs, stale, await run!.row())).rejects.toMatchObject({ code: 'CLAIM_FENCED' });
  expect(await seqsOf(run!)).toEqual([0, 1, 2, 3]);
});

test('C8 what is pruned while it is read is no damage', async () => {
  let pruned = 0;
  for (let reads = 1; reads <= 8; reads += 1) {
    for (const seq of [11, 5]) {
      const history = new ModelHistory();
      const run = await history.start('r');
      for (let i = 1; i <= 11; i += 1) await run.commit([['s', ['codeHash'], `${i}`]]);
      const fork = await history.fork(run, 11, 'f');
      const { store, blobs } = history;
      let left = reads;
      const pruning = async (): Promise<void> => {
        if ((left -= 1) !== 0) return;
        await pruneRun(store, blobs, run.claim, await run.row());
        pruned += 1;
      };
      const reading: Store = {
        ...store,
        readRun: async (...args) => (await pruning(), store.readRun(...args)),
        readSnapshot: async (...args) => (await pruning(), store.readSnapshot(...args)),
        readCheckpoints: async (...args) => (await pruning(), store.readCheckpoints(...args)),
      };
      const loading = loadState(reading, blobs, await fork.row(), seq);
      const told = await loading.then(({ root }): unknown => root).catch((error: CairnError) => error.code);
      expect([run.states.get(seq), ...(seq === 5 ? ['CHECKPOINT_PRUNED'] : [])]).toContainEqual(told);
      left = left > 0 ? left : reads;
      expect((await verifyRun(reading, blobs, await fork.row())).faults).toEqual([]);
    }
  }
  expect(pruned).toBeGreaterThan(10);
});
