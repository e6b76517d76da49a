/** Tests of repeated calls, by callers that did not get the first reply. */

import assert from 'node:assert/strict';
import {
  admission,
  bytesOf,
  checkpoint,
  commitMany,
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  message,
  readSeqs,
  requireClaim,
  requireRun,
  snapshot,
  startRun,
  wait,
  type SuitePart,
} from './examples.ts';

export const lostAcknowledgementsTests: SuitePart = {
  tests: {
    'S3 a commit that has landed is acknowledged again and not repeated': async ({ store }) => {
      const claim = await startRun(store, 'run');
      const commit = commitOf(claim, 1, { status: 'paused', openWaits: [wait('a')] });
      await store.commit(commit);
      assert.deepEqual(await store.commit(commit), { isHeld: true });
      await store.commit(commitOf(claim, 2, { status: 'running', closeWaits: ['a'] }));
      assert.deepEqual(await store.commit(commit), { isHeld: true });
      assert.deepEqual(await readSeqs(store, 'run'), [0, 1, 2]);
      const run = await requireRun(store, 'run');
      assert.deepEqual([run.head, run.status], [2, 'running']);
      assert.deepEqual((await store.listWaits({ tenant: claim.tenant })).rows, []);
    },

    'S3 a landed commit is recognised before the token is looked at, and told that the claim is gone': async ({
      store,
      advance,
    }) => {
      const claim = await startRun(store, 'run');
      const commit = commitOf(claim, 1);
      await store.commit(commit);
      await advance(leaseMs + 1);
      const next = await requireClaim(store, 'run', 'two');
      assert.deepEqual(await store.commit(commit), { isHeld: false });
      await store.commit(commitOf(next, 2));
      assert.deepEqual(await store.commit(commit), { isHeld: false });
      await store.releaseClaim(next);
      assert.deepEqual(await store.commit(commitOf(next, 2)), { isHeld: false });
      assert.deepEqual(await readSeqs(store, 'run'), [0, 1, 2]);
    },

    'S3 a commit of another worker is not mistaken for one that landed': async ({ store, advance }) => {
      const claim = await startRun(store, 'run');
      await advance(leaseMs + 1);
      const next = await requireClaim(store, 'run', 'two');
      await store.commit(commitOf(next, 1));
      await expectCode(store.commit(commitOf(claim, 1, { checkpoint: checkpoint(1, 'other') })), 'CLAIM_FENCED');
      await expectCode(store.commit(commitOf(next, 1, { checkpoint: checkpoint(1, 'other') })), 'COMMIT_CONFLICT');
      assert.deepEqual(await store.readCheckpoints(keyOf('run'), { from: 1, to: 9 }), [checkpoint(1)]);
    },

    'S3 a pipeline of which the middle was lost is sent again as a whole': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await commitMany(store, claim, 1, 4);
      await commitMany(store, claim, 2, 8);
      assert.deepEqual(await readSeqs(store, 'run'), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    },

    'E2 an admission made again shows the run it made': async ({ store }) => {
      const admitted = admission('run');
      await store.admitRun(admitted);
      const again = await store.admitRun(admitted);
      assert.equal(again.created, false);
      assert.equal(again.run.head, 0);
      assert.deepEqual(await store.readCheckpoints(keyOf('run'), { from: 0, to: 0 }), [admitted.checkpoint]);
    },

    'O1 a worker that never heard of its claim takes it from itself': async ({ store }) => {
      const claim = await startRun(store, 'run');
      const again = await requireClaim(store, 'run', 'one', 'one');
      assert.ok(again.token > claim.token);
      await expectCode(store.commit(commitOf(claim, 1)), 'CLAIM_FENCED');
      await store.commit(commitOf(again, 1));
    },

    'O1 an answer given again is acknowledged as equal': async ({ store }) => {
      await startRun(store, 'run', { waits: [wait('a')] });
      const answer = message('run', { kind: 'answer', name: 'a', body: bytesOf('yes') });
      assert.deepEqual(await store.postMessage(answer), { status: 'accepted' });
      assert.deepEqual(await store.postMessage(answer), { status: 'equal' });
      assert.equal((await store.readMessages(keyOf('run'))).length, 1);
    },

    'O1 a claim released again stays released': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await store.releaseClaim(claim);
      const next = await requireClaim(store, 'run', 'two');
      await store.releaseClaim(claim);
      assert.equal((await requireRun(store, 'run')).claim?.workerId, 'two');
      await store.commit(commitOf(next, 1));
    },

    'C4 a snapshot written again is kept as it is': async ({ store }) => {
      await startRun(store, 'run');
      await store.writeSnapshot(keyOf('run'), snapshot(0));
      await store.writeSnapshot(keyOf('run'), snapshot(0, 'other'));
      assert.deepEqual(await store.readSnapshot(keyOf('run'), 0), snapshot(0));
    },
  },
};
