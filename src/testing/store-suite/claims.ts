/** Tests of claims: one worker at a time advances a run. */

import assert from 'node:assert/strict';
import {
  admission,
  assertClaimed,
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  message,
  readSeqs,
  renew,
  requireClaim,
  requireRun,
  startRun,
  tenant,
  type SuitePart,
} from './examples.ts';

export const claimsTests: SuitePart = {
  tests: {
    'O1 a run nobody holds is granted; a run somebody holds is refused, naming the owner': async ({
      store,
      advance,
    }) => {
      await store.admitRun(admission('run'));
      const reply = await store.claimRun({ tenant, runId: 'run', workerId: 'one', leaseMs });
      assert.ok(reply.claim);
      assert.deepEqual({ ...reply.claim, token: 0 }, { tenant, runId: 'run', workerId: 'one', token: 0, leaseMs });
      assert.equal(Number.isSafeInteger(reply.claim.token), true);
      assertClaimed(reply.run.claim, 'one', leaseMs);
      await advance(1000);
      for (const workerId of ['two', 'one']) {
        const refused = await store.claimRun({ tenant, runId: 'run', workerId, leaseMs });
        assert.ok(refused.claim === undefined);
        assertClaimed({ workerId: refused.owner, remainingMs: refused.remainingMs }, 'one', leaseMs - 1000);
      }
      assertClaimed((await requireRun(store, 'run')).claim, 'one', leaseMs - 1000);
    },

    'O1 of claims under way at once, one is granted': async ({ store, reopen }) => {
      await store.admitRun(admission('run'));
      const other = (await reopen()) ?? store;
      const workers = Array.from({ length: 12 }, (_, index) => `worker ${index}`);
      const replies = await Promise.all(
        workers.map((workerId, index) =>
          (index % 2 === 0 ? store : other).claimRun({ tenant, runId: 'run', workerId, leaseMs }),
        ),
      );
      const granted = replies.flatMap((reply) => (reply.claim === undefined ? [] : [reply.claim]));
      assert.equal(granted.length, 1);
      for (const reply of replies) if (reply.claim === undefined) assert.equal(reply.owner, granted[0]?.workerId);
    },

    'O1 a claim of a run that is not there is refused': async ({ store }) => {
      await expectCode(store.claimRun({ tenant, runId: 'none', workerId: 'one', leaseMs }), 'RUN_NOT_FOUND');
    },

    'O1 the token grows with each claim': async ({ store }) => {
      const tokens = [(await startRun(store, 'run')).token];
      for (const workerId of ['two', 'three', 'four']) {
        const { token } = await requireClaim(store, 'run', workerId, (await requireRun(store, 'run')).claim?.workerId);
        tokens.push(token);
      }
      assert.deepEqual(
        tokens,
        [...new Set(tokens)].sort((a, b) => a - b),
      );
    },

    'O1 a run that was released is granted to the next, and the claim given back writes no more': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await store.releaseClaim(claim);
      assert.equal((await requireRun(store, 'run')).claim, undefined);
      await expectCode(store.commit(commitOf(claim, 1)), 'CLAIM_FENCED');
      assert.equal(await renew(store, claim), 'fenced');
      await store.commit(commitOf(await requireClaim(store, 'run', 'two'), 1));
      assert.deepEqual(await readSeqs(store, 'run'), [0, 1]);
    },

    'O1 a commit that releases the claim is written, and the next worker gets the run': async ({ store }) => {
      const claim = await startRun(store, 'run');
      const last = commitOf(claim, 1, { status: 'completed', releases: true });
      assert.deepEqual(await store.commit(last), { isHeld: false });
      assert.deepEqual(await store.commit(last), { isHeld: false });
      const { claim: none, status } = await requireRun(store, 'run');
      assert.deepEqual([none, status], [undefined, 'completed']);
      await expectCode(store.commit(commitOf(claim, 2)), 'CLAIM_FENCED');
      assert.equal(await renew(store, claim), 'fenced');
      const next = await requireClaim(store, 'run', 'two');
      assert.ok(next.token > claim.token);
      assert.deepEqual(await readSeqs(store, 'run'), [0, 1]);
    },

    'O1 a commit that waits for its transaction lands before the release made after it': async ({ store }) => {
      const claim = await startRun(store, 'run');
      const commits = [1, 2, 3].map((seq) => store.commit(commitOf(claim, seq)));
      await Promise.all(commits);
      await store.releaseClaim(claim);
      assert.deepEqual(await readSeqs(store, 'run'), [0, 1, 2, 3]);
    },

    'O6 an owner that never gave the run back counts as a death, until the head moves; a release counts none, and a pause ends the count':
      async ({ store, advance }) => {
        const told = async (): Promise<readonly number[]> => {
          const { claims, deaths, deathsSinceRest } = await requireRun(store, 'run');
          return [claims, deaths, deathsSinceRest];
        };
        await store.admitRun(admission('run'));
        assert.deepEqual(await told(), [0, 0, 0]);
        const first = await requireClaim(store, 'run', 'one');
        await store.releaseClaim(first);
        await requireClaim(store, 'run', 'two');
        assert.deepEqual(await told(), [2, 0, 0]);
        // The same worker again, and then another by a lease that ran out.
        await requireClaim(store, 'run', 'two', 'two');
        assert.deepEqual(await told(), [3, 0, 0]);
        await advance(leaseMs + 1);
        const third = await store.claimRun({ tenant, runId: 'run', workerId: 'three', leaseMs });
        assert.ok(third.claim);
        const { claims, deaths, deathsSinceRest } = third.run;
        assert.deepEqual([claims, deaths, deathsSinceRest], [4, 1, 1]);
        assert.deepEqual(await told(), [4, 1, 1]);
        const fourth = await requireClaim(store, 'run', 'four', 'three');
        assert.deepEqual(await told(), [5, 2, 2]);
        await store.commit(commitOf(fourth, 1));
        assert.deepEqual(await told(), [5, 0, 2]);
        await advance(leaseMs + 1);
        const [next] = await store.claimNext({ tenant, at: 1e15, workerId: 'five', leaseMs, limit: 1 });
        assert.ok(next);
        assert.deepEqual([next.run.claims, next.run.deaths, next.run.deathsSinceRest], [6, 1, 3]);
        assert.deepEqual(await told(), [6, 1, 3]);
        await store.releaseClaim(next.claim);
        assert.deepEqual(await told(), [6, 1, 3]);
        const sixth = await requireClaim(store, 'run', 'six');
        await store.commit(commitOf(sixth, 2, { status: 'paused' }));
        await store.releaseClaim(sixth);
        const seventh = await requireClaim(store, 'run', 'seven');
        assert.deepEqual(await told(), [8, 0, 0]);
        await store.commit(commitOf(seventh, 3, { status: 'running' }));
        const last = await requireClaim(store, 'run', 'eight', 'seven');
        assert.deepEqual(await told(), [9, 1, 1]);
        await store.commit(commitOf(last, 4, { status: 'completed', releases: true }));
        assert.deepEqual(await told(), [9, 0, 0]);
        assert.equal((await startRun(store, 'other')).workerId, 'one');
        assert.equal((await requireRun(store, 'other')).claims, 1);
      },

    'O2 a renewed lease holds on from the moment of the renewal': async ({ store, advance }) => {
      const claim = await startRun(store, 'run');
      for (let round = 0; round < 4; round += 1) {
        await advance(leaseMs / 2);
        assert.equal(await renew(store, claim), 'held');
      }
      assertClaimed((await requireRun(store, 'run')).claim, 'one', leaseMs);
      await advance(leaseMs / 2);
      const refused = await store.claimRun({ tenant, runId: 'run', workerId: 'two', leaseMs });
      assert.equal(refused.claim, undefined);
    },

    'O1 a renewal tells whether messages are waiting': async ({ store }) => {
      const claim = await startRun(store, 'run');
      assert.deepEqual(await store.renewClaims([claim]), [{ isHeld: true, hasMessages: false }]);
      await store.postMessage(message('run'));
      assert.deepEqual(await store.renewClaims([claim]), [{ isHeld: true, hasMessages: true }]);
      const [posted] = await store.readMessages(keyOf('run'));
      await store.commit(commitOf(claim, 1, { takeMessages: [posted?.id ?? -1] }));
      assert.deepEqual(await store.renewClaims([claim]), [{ isHeld: true, hasMessages: false }]);
    },

    'O1 a made-up token is refused': async ({ store }) => {
      const claim = await startRun(store, 'run');
      for (const token of [claim.token + 1, claim.token - 1, 0]) {
        const error = await expectCode(store.commit(commitOf({ ...claim, token }, 1)), 'CLAIM_FENCED');
        assert.deepEqual([error.data['token'], error.data['current']], [token, claim.token]);
        assert.equal(await renew(store, { ...claim, token }), 'fenced');
      }
      assert.deepEqual(await readSeqs(store, 'run'), [0]);
    },

    'O1 a claim on one run is none on another': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await store.admitRun(admission('other'));
      await expectCode(store.commit(commitOf({ ...claim, runId: 'other' }, 1)), 'CLAIM_FENCED');
      await expectCode(store.commit(commitOf({ ...claim, runId: 'none' }, 1)), 'CLAIM_FENCED');
      assert.equal(await renew(store, { ...claim, runId: 'none' }), 'fenced');
      await store.releaseClaim({ ...claim, runId: 'none' });
    },
  },
};
