/** Tests of tenants: an id is not enough to reach another tenant's run. */

import assert from 'node:assert/strict';
import {
  admission,
  checkpoint,
  commitOf,
  expectCode,
  leaseMs,
  message,
  snapshot,
  startRun,
  tenant,
  wait,
} from './examples.ts';
import type { SuitePart } from './suite.ts';

const theirs = { tenant: 'other', runId: 'run' };

export const tenantsTests: SuitePart = {
  tests: {
    'S2 no read reaches another tenant': async ({ store }) => {
      await startRun(store, 'run', { waits: [wait('a')] });
      await store.postMessage(message('run'));
      await store.writeSnapshot({ tenant, runId: 'run' }, snapshot(0));
      assert.equal(await store.readRun(theirs), undefined);
      assert.deepEqual(await store.findRuns('other', '', 10), []);
      assert.deepEqual((await store.listRuns({ tenant: 'other' })).rows, []);
      const next = { tenant: 'other', workerId: 'two', leaseMs: 1, at: 1e15, limit: 10 };
      assert.deepEqual(await store.claimNext(next), []);
      assert.deepEqual((await store.listWaits({ tenant: 'other' })).rows, []);
      assert.deepEqual((await store.listWaits({ tenant: 'other', runId: 'run' })).rows, []);
      assert.deepEqual(await store.readCheckpoints(theirs, { from: 0, to: 9 }), []);
      assert.equal(await store.readSnapshot(theirs, 9), undefined);
      assert.deepEqual(await store.readMessages(theirs), []);
      assert.deepEqual(await store.readTags(theirs), []);
    },

    'S2 no write reaches another tenant': async ({ store, advance, supports }) => {
      const claim = await startRun(store, 'run', { waits: [wait('a')] });
      await expectCode(store.commit(commitOf({ ...claim, tenant: 'other' }, 1)), 'CLAIM_FENCED');
      await expectCode(store.renewClaim({ ...claim, tenant: 'other' }), 'CLAIM_FENCED');
      await store.releaseClaim({ ...claim, tenant: 'other' });
      await expectCode(store.claimRun({ ...theirs, workerId: 'x', leaseMs }), 'RUN_NOT_FOUND');
      await expectCode(store.postMessage({ ...message('run'), tenant: 'other' }), 'RUN_NOT_FOUND');
      await expectCode(store.writeSnapshot(theirs, snapshot(0)), 'CHECKPOINT_NOT_FOUND');
      if (supports.tags) await expectCode(store.tagCheckpoint(theirs, { name: 't', seq: 0 }), 'CHECKPOINT_NOT_FOUND');
      const fork = admission('fork', { tenant: 'other', parent: { runId: 'run', seq: 0 } });
      await expectCode(store.admitRun(fork), 'CHECKPOINT_NOT_FOUND');
      await advance(leaseMs + 1);
      if (supports.removal) await expectCode(store.removeRun(theirs), 'RUN_NOT_FOUND');
      await store.commit(commitOf(claim, 1));
    },

    'S2 one id in two tenants is two runs': async ({ store }) => {
      const ours = await startRun(store, 'run', { waits: [wait('a')] });
      const { claim } = await store.admitRun(
        admission('run', { tenant: 'other', graphId: 'theirs', waits: [wait('a')], claim: { workerId: 'x', leaseMs } }),
      );
      assert.ok(claim);
      await store.commit(commitOf(ours, 1, { closeWaits: ['a'] }));
      await store.commit(commitOf(claim, 1, { checkpoint: checkpoint(1, 'theirs') }));
      assert.deepEqual(await store.readCheckpoints(theirs, { from: 1, to: 9 }), [checkpoint(1, 'theirs')]);
      assert.equal((await store.listWaits({ tenant: 'other' })).rows.length, 1);
      assert.equal((await store.listWaits({ tenant })).rows.length, 0);
      assert.equal((await store.readRun(theirs))?.graphId, 'theirs');
    },

    'S2 tenants and ids that run together are told apart': async ({ store }) => {
      await store.admitRun(admission('bc', { tenant: 'a', graphId: 'first' }));
      await store.admitRun(admission('c', { tenant: 'ab', graphId: 'second' }));
      await store.admitRun(admission('c', { tenant: 'a\0b', graphId: 'third' }));
      await store.admitRun(admission('b\0c', { tenant: 'a', graphId: 'fourth' }));
      const graphs = [
        { tenant: 'a', runId: 'bc' },
        { tenant: 'ab', runId: 'c' },
        { tenant: 'a\0b', runId: 'c' },
        { tenant: 'a', runId: 'b\0c' },
      ].map(async (key) => (await store.readRun(key))?.graphId);
      assert.deepEqual(await Promise.all(graphs), ['first', 'second', 'third', 'fourth']);
    },
  },
};
