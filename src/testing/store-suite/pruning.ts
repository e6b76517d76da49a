/** Tests of pruning: it removes all rows that it names or none, and never one that a fork or tag needs. */

import assert from 'node:assert/strict';
import type { Claim, Prune, Store } from '../../ports/store.ts';
import {
  admission,
  checkpoint,
  commitMany,
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  readSeqs,
  requireClaim,
  requireRun,
  snapshot,
  startRun,
  tenant,
  type SuitePart,
} from './examples.ts';

function pruneOf(claim: Claim, fields: Partial<Prune> = {}): Prune {
  const { runId, token } = claim;
  return { tenant, runId, token, remove: [], replace: [], snapshots: [], prunedBelow: 0, ...fields };
}

async function startLong(store: Store): Promise<Claim> {
  const claim = await startRun(store, 'run');
  await commitMany(store, claim, 1, 10);
  return claim;
}

export const pruningTests: SuitePart = {
  needs: 'pruning',
  unsupported: {
    'S2 pruning is refused by name': async ({ store }) => {
      await expectCode(store.pruneRun(pruneOf(await startLong(store))), 'STORE_UNSUPPORTED');
    },
  },
  tests: {
    'C8 pruning removes rows, replaces the one they were folded into, and keeps a snapshot of the oldest': async ({
      store,
    }) => {
      const claim = await startLong(store);
      await store.writeSnapshot(keyOf('run'), snapshot(2));
      await store.writeSnapshot(keyOf('run'), snapshot(8));
      const folded = checkpoint(5, 'folded');
      const fields = { remove: [0, 1, 2, 3, 4], replace: [folded], snapshots: [snapshot(5)], prunedBelow: 5 };
      await store.pruneRun(pruneOf(claim, fields));
      assert.deepEqual(await readSeqs(store, 'run'), [5, 6, 7, 8, 9, 10]);
      assert.deepEqual(await store.readCheckpoints(keyOf('run'), { from: 5, to: 5 }), [folded]);
      assert.deepEqual(await store.readSnapshot(keyOf('run'), 7), snapshot(5));
      assert.deepEqual(await store.readSnapshot(keyOf('run'), 8), snapshot(8));
      assert.equal(await store.readSnapshot(keyOf('run'), 4), undefined);
      const run = await requireRun(store, 'run');
      assert.deepEqual([run.head, run.prunedBelow, run.createdAt], [10, 5, 1000]);
      await store.commit(commitOf(claim, 11));
      assert.equal((await requireRun(store, 'run')).head, 11);
    },

    'C8 pruning asked for again changes nothing more': async ({ store }) => {
      const claim = await startLong(store);
      const prune = pruneOf(claim, { remove: [1, 2], replace: [checkpoint(3, 'folded')], prunedBelow: 0 });
      await store.pruneRun(prune);
      await store.pruneRun(prune);
      assert.deepEqual(await readSeqs(store, 'run'), [0, 3, 4, 5, 6, 7, 8, 9, 10]);
    },

    'C8 a row that a fork, a tag or the head needs keeps all the others': async ({ store, supports }) => {
      const claim = await startLong(store);
      await store.admitRun(admission('fork', { parent: { runId: 'run', seq: 4 } }));
      if (supports.tags) await store.tagCheckpoint(keyOf('run'), { name: 't', seq: 6 });
      for (const needed of supports.tags ? [4, 6, 10] : [4, 10]) {
        const prune = pruneOf(claim, { remove: [1, 2, needed], snapshots: [snapshot(3)], prunedBelow: 3 });
        await expectCode(store.pruneRun(prune), 'COMMIT_CONFLICT');
      }
      await expectCode(store.pruneRun(pruneOf(claim, { remove: [1], replace: [checkpoint(99)] })), 'COMMIT_CONFLICT');
      assert.equal((await readSeqs(store, 'run')).length, 11);
      assert.equal(await store.readSnapshot(keyOf('run'), 9), undefined);
      assert.equal((await requireRun(store, 'run')).prunedBelow, 0);
    },

    'C8 a tag or a fork of a pruned checkpoint is refused': async ({ store, supports }) => {
      const claim = await startLong(store);
      await store.pruneRun(pruneOf(claim, { remove: [3] }));
      await expectCode(store.admitRun(admission('fork', { parent: { runId: 'run', seq: 3 } })), 'CHECKPOINT_NOT_FOUND');
      await expectCode(store.writeSnapshot(keyOf('run'), snapshot(3)), 'CHECKPOINT_NOT_FOUND');
      if (supports.tags)
        await expectCode(store.tagCheckpoint(keyOf('run'), { name: 't', seq: 3 }), 'CHECKPOINT_NOT_FOUND');
    },

    'C8 of a fork and a pruning under way at once, one is refused': async ({ store, reopen }) => {
      const claim = await startLong(store);
      const other = (await reopen()) ?? store;
      for (let seq = 1; seq <= 9; seq += 1) {
        const fork = (): Promise<unknown> =>
          other.admitRun(admission(`fork ${seq}`, { parent: { runId: 'run', seq } }));
        const prune = (): Promise<unknown> => store.pruneRun(pruneOf(claim, { remove: [seq] }));
        const calls = seq % 2 === 0 ? [fork, prune] : [prune, fork];
        const settled = await Promise.allSettled(calls.map((call) => call()));
        assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1, `at ${seq}`);
        const isStored = (await readSeqs(store, 'run')).includes(seq);
        assert.equal(isStored, (await store.readRun(keyOf(`fork ${seq}`))) !== undefined, 'a fork has its parent');
      }
    },

    'O1 pruning needs the newest claim': async ({ store, advance }) => {
      const claim = await startLong(store);
      await advance(leaseMs + 1);
      const next = await requireClaim(store, 'run', 'two');
      await expectCode(store.pruneRun(pruneOf(claim, { remove: [1] })), 'CLAIM_FENCED');
      await store.pruneRun(pruneOf(next, { remove: [1] }));
      await expectCode(store.pruneRun(pruneOf({ ...next, runId: 'none' })), 'CLAIM_FENCED');
      assert.equal((await readSeqs(store, 'run')).length, 10);
    },
  },
};
