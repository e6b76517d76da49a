/** Tests of takeover: a worker that is gone is replaced, and its writes are refused when it comes back. */

import assert from 'node:assert/strict';
import {
  assertHeld,
  checkpoint,
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  readSeqs,
  requireClaim,
  requireRun,
  startRun,
  tenant,
} from './examples.ts';
import type { SuitePart } from './suite.ts';

export const takeoverTests: SuitePart = {
  tests: {
    'O2 a lease that has run out lets another take over, and the first is refused from then on': async ({
      store,
      advance,
    }) => {
      const first = await startRun(store, 'run');
      await store.commit(commitOf(first, 1));
      await advance(leaseMs);
      assert.equal((await requireRun(store, 'run')).claim, undefined);
      const second = await requireClaim(store, 'run', 'two');
      await expectCode(store.commit(commitOf(first, 2, { checkpoint: checkpoint(2, 'late') })), 'CLAIM_FENCED');
      await expectCode(store.renewClaim(first), 'CLAIM_FENCED');
      await store.commit(commitOf(second, 2));
      await expectCode(store.commit(commitOf(first, 3)), 'CLAIM_FENCED');
      assert.deepEqual(await store.readCheckpoints(keyOf('run'), { from: 2, to: 9 }), [checkpoint(2)]);
    },

    'O2 a lease that has run out still holds while nobody takes over': async ({ store, advance }) => {
      const claim = await startRun(store, 'run');
      await advance(leaseMs * 3);
      assert.deepEqual(await store.commit(commitOf(claim, 1)), { isHeld: true });
      await store.renewClaim(claim);
      assertHeld((await requireRun(store, 'run')).claim, 'one', leaseMs);
    },

    'O2 a worker known to be dead is taken over at once, and nobody else is': async ({ store }) => {
      const first = await startRun(store, 'run');
      const refused = await store.claimRun({ tenant, runId: 'run', workerId: 'two', leaseMs, takeFrom: 'somebody' });
      assert.ok(refused.claim === undefined);
      assertHeld({ workerId: refused.owner, remainingMs: refused.remainingMs }, 'one', leaseMs);
      const second = await requireClaim(store, 'run', 'two', 'one');
      await expectCode(store.commit(commitOf(first, 1)), 'CLAIM_FENCED');
      await store.commit(commitOf(second, 1));
    },

    'O2 of takeovers under way at once, one is granted': async ({ store, advance, reopen }) => {
      await startRun(store, 'run');
      await advance(leaseMs + 1);
      const other = (await reopen()) ?? store;
      const replies = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          (index % 2 === 0 ? store : other).claimRun({ tenant, runId: 'run', workerId: `worker ${index}`, leaseMs }),
        ),
      );
      assert.equal(replies.filter(({ claim }) => claim !== undefined).length, 1);
    },

    'O2 a takeover sees all that was acknowledged before it': async ({ store, reopen }) => {
      const claim = await startRun(store, 'run');
      await Promise.all([1, 2, 3].map((seq) => store.commit(commitOf(claim, seq))));
      const other = (await reopen()) ?? store;
      const reply = await other.claimRun({ tenant, runId: 'run', workerId: 'two', leaseMs, takeFrom: 'one' });
      assert.ok(reply.claim);
      assert.equal(reply.run.head, 3);
      await other.commit(commitOf(reply.claim, 4));
      await expectCode(store.commit(commitOf(claim, 4, { checkpoint: checkpoint(4, 'late') })), 'CLAIM_FENCED');
      await expectCode(store.commit(commitOf(claim, 5)), 'CLAIM_FENCED');
      const back = await store.claimRun({ tenant, runId: 'run', workerId: 'one', leaseMs, takeFrom: 'two' });
      assert.ok(back.claim);
      await store.commit(commitOf(back.claim, 5));
      assert.deepEqual(await readSeqs(other, 'run'), [0, 1, 2, 3, 4, 5]);
    },
  },
};
