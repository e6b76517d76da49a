import { beforeEach, expect, test } from 'vitest';
import type { Claim, Store } from '../ports/store.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { createFaultyStore, type FaultyStoreOptions } from './faulty-store.ts';
import { admission, checkpoint, commitOf, keyOf, message, readSeqs, startRun } from './store-suite/examples.ts';
import { createVirtualClock, type VirtualClock } from '../ports/virtual-clock.ts';

let inner: Store;
let clock: VirtualClock;
let claim: Claim;

beforeEach(async () => {
  inner = createMemoryStore();
  clock = createVirtualClock();
  claim = await startRun(inner, 'run');
});

const wrap = (faults: Omit<FaultyStoreOptions, 'clock' | 'seed'>, seed = 1): Store =>
  createFaultyStore(inner, { clock, seed, ...faults });

/** Lets the network's time pass until the calls have settled. */
async function settle<Reply>(calls: readonly Promise<Reply>[]): Promise<PromiseSettledResult<Reply>[]> {
  const settled = Promise.allSettled(calls);
  await clock.runUntilIdle();
  return settled;
}

test('S3 without faults every call is passed on at once', async () => {
  const store = wrap({});
  expect(await store.commit(commitOf(claim, 1))).toEqual({ isHeld: true });
  expect(clock.timerCount).toBe(0);
  expect([store.name, store.capabilities]).toEqual([inner.name, inner.capabilities]);
});

test('S3 a request that is lost was not done', async () => {
  const [reply] = await settle([wrap({ failBefore: 1 }).commit(commitOf(claim, 1))]);
  expect(reply).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } });
  expect(await readSeqs(inner, 'run')).toEqual([0]);
});

test('S3 an acknowledgement that is lost was of something done', async () => {
  const [reply] = await settle([wrap({ loseAck: 1 }).commit(commitOf(claim, 1))]);
  expect(reply).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } });
  expect(await readSeqs(inner, 'run')).toEqual([0, 1]);
});

test('S3 faults may differ by method', async () => {
  const store = wrap({ failBefore: (method) => (method === 'postMessage' ? 1 : 0) });
  const [commit, post] = await settle<unknown>([store.commit(commitOf(claim, 1)), store.postMessage(message('run'))]);
  expect([commit?.status, post?.status]).toEqual(['fulfilled', 'rejected']);
});

test('E3 commits of one run keep their order, whatever their latencies', async () => {
  for (let seed = 0; seed < 20; seed += 1) {
    const store = wrap({ latencyMs: 50, reorder: true }, seed);
    const { head = 0 } = (await inner.readRun(keyOf('run'))) ?? {};
    const seqs = Array.from({ length: 10 }, (_, index) => head + 1 + index);
    const settled = await settle(seqs.map((seq) => store.commit(commitOf(claim, seq))));
    expect(settled.filter(({ status }) => status === 'rejected')).toEqual([]);
  }
});

/** Whether a later admission came to the store before an earlier one. */
async function isOvertaken(reorder: boolean): Promise<boolean> {
  const ids = Array.from({ length: 20 }, (_, index) => `run ${String(index).padStart(2, '0')}`);
  const store = wrap({ latencyMs: 50, reorder });
  await settle(ids.map((id) => store.admitRun(admission(id))));
  const { rows } = await inner.listRuns({ tenant: claim.tenant, limit: 20 });
  return (
    rows
      .map(({ runId }) => runId)
      .reverse()
      .join() !== ids.join()
  );
}

test('S2 other calls overtake each other only where the network reorders', async () => {
  expect(await isOvertaken(true)).toBe(true);
  inner = createMemoryStore();
  expect(await isOvertaken(false)).toBe(false);
});

test('S2 a request is what it was when it was sent', async () => {
  const store = wrap({ latencyMs: 50 });
  const commit = commitOf(claim, 1);
  const sent = store.commit(commit);
  commit.checkpoint.body.fill(0);
  await settle([sent]);
  expect(await inner.readCheckpoints(keyOf('run'), { from: 1, to: 1 })).toEqual([checkpoint(1)]);
});

test('P1 a dead process hears of nothing, and what it had not sent is not done', async () => {
  let isDead = false;
  const store = wrap({ latencyMs: 50, isDead: () => isDead });
  const heard: string[] = [];
  const note = (name: string) => (): void => void heard.push(name);
  store.commit(commitOf(claim, 1)).then(note('first'), note('first'));
  isDead = true;
  store.commit(commitOf(claim, 2)).then(note('second'), note('second'));
  await clock.runUntilIdle();
  expect(heard).toEqual([]);
  expect(await readSeqs(inner, 'run')).toEqual([0]);
});

test('S2 a seed repeats its faults', async () => {
  const outcomes = async (seed: number): Promise<string> => {
    const store = wrap({ latencyMs: 9, reorder: true, failBefore: 0.3, loseAck: 0.3 }, seed);
    const settled = await settle(Array.from({ length: 40 }, () => store.readRun(keyOf('run'))));
    return settled.map(({ status }) => status[0]).join('');
  };
  const first = await outcomes(5);
  expect(await outcomes(5)).toBe(first);
  expect(await outcomes(6)).not.toBe(first);
  expect(first).toMatch(/f.*r/);
});

test('S3 closing waits for the calls under way', async () => {
  const store = wrap({ latencyMs: 50 });
  const commit = store.commit(commitOf(claim, 1));
  const [reply] = await settle<unknown>([commit, store.close()]);
  expect(reply).toMatchObject({ status: 'fulfilled' });
  await expect(inner.readRun(keyOf('run'))).rejects.toMatchObject({ code: 'STORE_CLOSED' });
});
