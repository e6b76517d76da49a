/**
 * The test suite that every store must pass (S2). It is a function of a test runner and a factory, so adapters in other packages can use it
 * too.
 *
 * @see docs/spec/stores.md
 */
import assert from 'node:assert/strict';
import {
  type SuitePart,
  admission,
  assertClaimed,
  checkpoint,
  commitMany,
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  message,
  readSeqs,
  requireRun,
  startRun,
  tenant,
  wait,
  renew,
  requireClaim,
  snapshot,
  historyReadsTests,
  registerPart,
  type StoreSuiteOptions,
} from './examples.ts';
import { admissionTests } from './admission.ts';
import { claimsTests } from './claims.ts';
import { commitsTests } from './commits.ts';
import { fleetLimitsTests } from './fleet-limits.ts';
import { isolationTests } from './isolation.ts';
import { limitsTests } from './limits.ts';
import { linearizabilityTests } from './random/linearizability.ts';
import { lostAcknowledgementsTests } from './lost-acknowledgements.ts';
import { messagesTests } from './messages.ts';
import { nextRunsTests } from './next-runs.ts';
import { pagingTests } from './paging.ts';
import { pruningTests } from './pruning.ts';
import { randomUseTests } from './random/random-use.ts';
import { readyRunsTests } from './ready-runs.ts';
import { removalTests } from './removal.ts';
import { referencesTests } from './references.ts';
import { retentionTests } from './retention.ts';
import { workersTests } from './workers.ts';
import { waitsTests } from './waits.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

// Tests of the identity of a store's data.

const identityTests: SuitePart = {
  tests: {
    'S6 the identity is the same for every opening, until it is given another': async ({ store, reopen }) => {
      const first = await store.readIdentity();
      const other = (await reopen()) ?? store;
      assert.equal(await other.readIdentity(), first);
      for (const identity of ['shop-staging', 'nul\0 and \u{1f600}']) {
        await other.setIdentity(identity);
        assert.equal(await store.readIdentity(), identity);
        assert.equal(await other.readIdentity(), identity);
      }
    },
  },
};

// Tests of reopening: what was acknowledged is there when the store is opened again, and a closed store says so.

const reopeningTests: SuitePart = {
  tests: {
    'S2 a closed store refuses every call by name, and may be closed again': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await store.close();
      await store.close();
      const calls: readonly (() => Promise<unknown>)[] = [
        () => store.admitRun(admission('other')),
        () => store.readRun(keyOf('run')),
        () => store.listRuns({ tenant }),
        () => store.claimRun({ tenant, runId: 'run', workerId: 'x', leaseMs: 1 }),
        () => store.commit(commitOf(claim, 1)),
        () => store.readCheckpoints(keyOf('run'), { from: 0, to: 1 }),
        () => store.postMessage(message('run')),
        () => store.listWaits({ tenant }),
      ];
      for (const call of calls) await expectCode(call(), 'STORE_CLOSED');
    },

    'S3 closing waits for the commits under way': async ({ store, reopen }) => {
      const claim = await startRun(store, 'run');
      const commits = Promise.all(Array.from({ length: 20 }, (_, index) => store.commit(commitOf(claim, index + 1))));
      const other = await reopen();
      await store.close();
      await commits;
      if (other !== undefined) assert.equal((await readSeqs(other, 'run')).length, 21);
    },

    'S3 what was acknowledged is seen at once through another opening': async ({ store, reopen }) => {
      const other = await reopen();
      assert.equal(other !== undefined, store.capabilities.isShared);
      if (other === undefined) return;
      const claim = await startRun(store, 'run', { waits: [wait('a')] });
      await commitMany(store, claim, 1, 5);
      await store.postMessage(message('run'));
      const seen = await requireRun(other, 'run');
      const known = await requireRun(store, 'run');
      assertClaimed(seen.claim, 'one', leaseMs);
      assert.deepEqual({ ...seen, claim: undefined }, { ...known, claim: undefined });
      assert.deepEqual(await other.readCheckpoints(keyOf('run'), { from: 5, to: 5 }), [checkpoint(5)]);
      assert.deepEqual(await other.listWaits({ tenant }), await store.listWaits({ tenant }));
      assert.deepEqual(await other.readMessages(keyOf('run')), await store.readMessages(keyOf('run')));
    },

    'O1 two openings that write to different runs do not disturb each other': async ({ store, reopen }) => {
      const other = (await reopen()) ?? store;
      const mine = await startRun(store, 'mine');
      const theirs = await startRun(other, 'theirs');
      const seqs = Array.from({ length: 40 }, (_, index) => index + 1);
      await Promise.all([
        ...seqs.map((seq) => store.commit(commitOf(mine, seq))),
        ...seqs.map((seq) => other.commit(commitOf(theirs, seq))),
      ]);
      for (const seq of [41, 42, 43]) {
        await store.commit(commitOf(mine, seq));
        await other.commit(commitOf(theirs, seq));
      }
      assert.equal((await readSeqs(other, 'mine')).length, 44);
      assert.equal((await readSeqs(store, 'theirs')).length, 44);
    },
  },
};

// Tests of tags.

const tagsTests: SuitePart = {
  needs: 'tags',
  unsupported: {
    'S2 tags are refused by name': async ({ store }) => {
      await startRun(store, 'run');
      await expectCode(store.tagCheckpoint(keyOf('run'), { name: 't', seq: 0 }), 'STORE_UNSUPPORTED');
    },
  },
  tests: {
    'H1 a tag names a checkpoint, and moves when it is set again': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await commitMany(store, claim, 1, 5);
      await store.tagCheckpoint(keyOf('run'), { name: 'good', seq: 2 });
      await store.tagCheckpoint(keyOf('run'), { name: 'best', seq: 3 });
      await store.tagCheckpoint(keyOf('run'), { name: 'good', seq: 5 });
      assert.deepEqual(await store.readTags(keyOf('run')), [
        { name: 'best', seq: 3 },
        { name: 'good', seq: 5 },
      ]);
    },

    'H1 a tag that is removed is gone, and may be removed again': async ({ store }) => {
      await startRun(store, 'run');
      await store.tagCheckpoint(keyOf('run'), { name: 'good', seq: 0 });
      // A store need not tell it with the row; what it tells is true.
      assert.notEqual((await store.readRun(keyOf('run')))?.hasTags, false);
      await store.removeTag(keyOf('run'), 'good');
      await store.removeTag(keyOf('run'), 'good');
      await store.removeTag(keyOf('none'), 'good');
      assert.deepEqual(await store.readTags(keyOf('run')), []);
      assert.notEqual((await store.readRun(keyOf('run')))?.hasTags, true);
    },

    'H1 a tag of a checkpoint that is not there is refused': async ({ store }) => {
      await startRun(store, 'run');
      await expectCode(store.tagCheckpoint(keyOf('run'), { name: 't', seq: 1 }), 'CHECKPOINT_NOT_FOUND');
      await expectCode(store.tagCheckpoint(keyOf('none'), { name: 't', seq: 0 }), 'CHECKPOINT_NOT_FOUND');
      assert.deepEqual(await store.readTags(keyOf('run')), []);
    },

    'H1 one name in two runs is two tags': async ({ store }) => {
      await startRun(store, 'one');
      await startRun(store, 'two');
      await store.tagCheckpoint(keyOf('one'), { name: 't', seq: 0 });
      assert.deepEqual(await store.readTags(keyOf('two')), []);
    },
  },
};

// Tests of takeover: a worker that is gone is replaced, and its writes are refused when it comes back.

const takeoverTests: SuitePart = {
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
      assert.equal(await renew(store, first), 'fenced');
      await store.commit(commitOf(second, 2));
      await expectCode(store.commit(commitOf(first, 3)), 'CLAIM_FENCED');
      assert.deepEqual(await store.readCheckpoints(keyOf('run'), { from: 2, to: 9 }), [checkpoint(2)]);
    },

    'O2 a lease that has run out still holds while nobody takes over': async ({ store, advance }) => {
      const claim = await startRun(store, 'run');
      await advance(leaseMs * 3);
      assert.deepEqual(await store.commit(commitOf(claim, 1)), { isHeld: true });
      assert.equal(await renew(store, claim), 'held');
      assertClaimed((await requireRun(store, 'run')).claim, 'one', leaseMs);
    },

    'O2 a worker known to be dead is taken over at once, and nobody else is': async ({ store }) => {
      const first = await startRun(store, 'run');
      const refused = await store.claimRun({ tenant, runId: 'run', workerId: 'two', leaseMs, takeFrom: 'somebody' });
      assert.ok(refused.claim === undefined);
      assertClaimed({ workerId: refused.owner, remainingMs: refused.remainingMs }, 'one', leaseMs);
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

// Tests of tenants: an id is not enough to reach another tenant's run.

const theirs = { tenant: 'other', runId: 'run' };

const tenantsTests: SuitePart = {
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
      assert.equal(await renew(store, { ...claim, tenant: 'other' }), 'fenced');
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

const parts: readonly SuitePart[] = [
  admissionTests,
  commitsTests,
  lostAcknowledgementsTests,
  historyReadsTests,
  claimsTests,
  takeoverTests,
  nextRunsTests,
  readyRunsTests,
  workersTests,
  fleetLimitsTests,
  waitsTests,
  messagesTests,
  tenantsTests,
  pagingTests,
  tagsTests,
  pruningTests,
  removalTests,
  retentionTests,
  referencesTests,
  limitsTests,
  isolationTests,
  reopeningTests,
  identityTests,
  randomUseTests,
  linearizabilityTests,
];

/**
 * Registers the tests of the store port. Each title begins with the rule it proves. Random parts print their seed when they fail.
 *
 * A store that lacks a feature says so in `supports`; it must then throw STORE_UNSUPPORTED for it.
 */
export function storeSuite(options: StoreSuiteOptions): void {
  refuseUnknownKeys('storeSuite', options, ['test', 'create', 'supports', 'seed']);
  for (const part of parts) registerPart(part, options);
}
