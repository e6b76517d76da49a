/** Tests of removing runs: everything of a run is removed, unless something needs it. */

import assert from 'node:assert/strict';
import {
  admission,
  assertRemaining,
  checkpoint,
  commitOf,
  commitMany,
  expectCode,
  keyOf,
  leaseMs,
  message,
  readSeqs,
  snapshot,
  startRun,
  tenant,
  wait,
  type SuitePart,
} from './examples.ts';

export const removalTests: SuitePart = {
  needs: 'removal',
  unsupported: {
    'S2 removal is refused by name': async ({ store }) => {
      await store.admitRun(admission('run'));
      await expectCode(store.removeRun(keyOf('run')), 'STORE_UNSUPPORTED');
    },
  },
  tests: {
    'S4 a removed run is found by its labels no more, nor is another run of its id': async ({ store }) => {
      const labels = { user: 'ann' };
      for (const runId of ['a', 'b']) await store.admitRun(admission(runId, { labels }));
      await store.removeRun(keyOf('b'));
      await store.admitRun(admission('b'));
      assert.deepEqual(
        (await store.listRuns({ tenant, labels })).rows.map(({ runId }) => runId),
        ['a'],
      );
    },

    'H1 a removed run leaves nothing, and its id may be used again': async ({ store, supports }) => {
      const claim = await startRun(store, 'run', { waits: [wait('a', { dueAt: 1 })] });
      await commitMany(store, claim, 1, 3);
      await store.writeSnapshot(keyOf('run'), snapshot(2));
      await store.postMessage(message('run', { kind: 'answer', name: 'a' }));
      if (supports.tags) await store.tagCheckpoint(keyOf('run'), { name: 't', seq: 1 });
      await store.releaseClaim(claim);
      await store.admitRun(admission('bystander', { waits: [wait('b')] }));
      await store.removeRun(keyOf('run'));
      const assertGone = async (): Promise<void> => {
        assert.equal(await store.readSnapshot(keyOf('run'), 9), undefined);
        assert.deepEqual(await store.readMessages(keyOf('run')), []);
        assert.deepEqual(await store.readTags(keyOf('run')), []);
        assert.deepEqual(
          (await store.listWaits({ tenant })).rows.map(({ waitId }) => waitId),
          ['b'],
        );
      };
      assert.equal(await store.readRun(keyOf('run')), undefined);
      assert.deepEqual(await readSeqs(store, 'run'), []);
      await assertGone();
      assert.equal((await store.admitRun(admission('run'))).created, true);
      assert.deepEqual(await readSeqs(store, 'run'), [0]);
      await assertGone();
      assert.deepEqual(await readSeqs(store, 'bystander'), [0]);
    },

    'H1 a run with forks stays, and names them': async ({ store }) => {
      await store.admitRun(admission('run'));
      await store.admitRun(admission('fork', { parent: { runId: 'run', seq: 0 } }));
      const error = await expectCode(store.removeRun(keyOf('run')), 'HISTORY_HAS_FORKS');
      assert.deepEqual(error.data['forks'], ['fork']);
      await store.removeRun(keyOf('fork'));
      await store.removeRun(keyOf('run'));
      assert.equal(await store.readRun(keyOf('run')), undefined);
    },

    'O1 a run that is being advanced stays, and names its owner': async ({ store, advance }) => {
      await startRun(store, 'run');
      const error = await expectCode(store.removeRun(keyOf('run')), 'CLAIM_TAKEN');
      assert.equal(error.data['owner'], 'one');
      assertRemaining(error.data['remainingMs'], leaseMs);
      await advance(leaseMs);
      await store.removeRun(keyOf('run'));
      assert.deepEqual((await store.listRuns({ tenant })).rows, []);
    },

    'H1 a run that is not there cannot be removed': async ({ store }) => {
      await expectCode(store.removeRun(keyOf('none')), 'RUN_NOT_FOUND');
    },

    'O1 a claim on a run that was removed and admitted again is fenced': async ({ store, advance, reopen }) => {
      const stale = await startRun(store, 'run');
      await store.commit(commitOf(stale, 1));
      await advance(leaseMs + 1);
      const other = (await reopen()) ?? store;
      await other.removeRun(keyOf('run'));
      await expectCode(store.commit(commitOf(stale, 2)), 'CLAIM_FENCED');
      await other.admitRun(admission('run'));
      const { claim } = await other.claimRun({ tenant, runId: 'run', workerId: 'two', leaseMs });
      assert.ok(claim);
      assert.notEqual(claim.token, stale.token);
      await other.commit(commitOf(claim, 1, { checkpoint: checkpoint(1, 'new') }));
      await expectCode(store.commit(commitOf(stale, 2)), 'CLAIM_FENCED');
      assert.deepEqual(await readSeqs(store, 'run'), [0, 1]);
    },
  },
};
