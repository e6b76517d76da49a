/** Tests of `claimNext`: which runs a worker gets, in which order, and that no other gets them. */

import assert from 'node:assert/strict';
import type { Admission, ClaimableQuery, NextRequest, Store } from '../../ports/store.ts';
import {
  admission,
  bytesOf,
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  message,
  requireClaim,
  requireRun,
  startRun,
  tenant,
  wait,
  type SuitePart,
} from './examples.ts';

const now = 5000;

/** Claims runs and returns their ids. */
async function claimNext(store: Store, request: Partial<NextRequest> = {}): Promise<readonly string[]> {
  const granted = await store.claimNext({ tenant, workerId: 'two', leaseMs, at: now, limit: 100, ...request });
  for (const { claim, run } of granted) {
    assert.deepEqual([claim.tenant, claim.runId, claim.workerId, claim.leaseMs], [tenant, run.runId, 'two', leaseMs]);
    assert.equal(run.claim?.workerId, 'two');
  }
  return granted.map(({ run }) => run.runId);
}

/** Admits runs without claiming them, each with fields of its own. */
async function admitAll(store: Store, runs: Readonly<Record<string, Partial<Admission>>>): Promise<void> {
  for (const [runId, fields] of Object.entries(runs)) await store.admitRun(admission(runId, fields));
}

const timer = (dueAt: number) => [wait('w', { kind: 'timer', dueAt })];

export const nextRunsTests: SuitePart = {
  tests: {
    'O1 the runs to claim next are those with work, without a live claim, and due': async ({ store, advance }) => {
      await startRun(store, 'held');
      await admitAll(store, {
        running: {},
        asleep: { status: 'paused', waits: [wait('w')] },
        due: { status: 'paused', waits: timer(now) },
        later: { status: 'paused', waits: timer(now + 1) },
        called: { status: 'paused' },
        undoing: { status: 'cancelling' },
        done: { status: 'completed', waits: timer(1) },
        scheduled: { schedule: { dueAt: now + 1 } },
      });
      for (const runId of ['called', 'done']) await store.postMessage(message(runId));
      assert.deepEqual([...(await claimNext(store))].sort(), ['called', 'due', 'running', 'undoing']);
      assert.deepEqual(await claimNext(store), []);
      await advance(leaseMs + 1);
      assert.deepEqual([...(await claimNext(store))].sort(), ['called', 'due', 'held', 'running', 'undoing']);
      const claim = await requireClaim(store, 'called', 'three', 'two');
      const taken = (await store.readMessages(keyOf('called'))).map(({ id }) => id);
      await store.commit(commitOf(claim, 1, { takeMessages: taken }));
      await store.releaseClaim(claim);
      assert.deepEqual([...(await claimNext(store, { at: now + 1 }))].sort(), ['later', 'scheduled']);
    },

    'O1 higher priority goes first, then what has been due longest, then what was admitted first': async ({
      store,
    }) => {
      await admitAll(store, {
        new: { schedule: { dueAt: 40 } },
        low: { schedule: { dueAt: 1, priority: -1 } },
        called: { status: 'paused' },
        due: { status: 'paused', waits: timer(20) },
        urgent: { status: 'paused', waits: timer(90), schedule: { priority: 7, dueAt: 5 } },
        old: { schedule: { dueAt: 10 } },
        twin: { schedule: { dueAt: 40 } },
        pressing: { schedule: { priority: 7, dueAt: 80 } },
      });
      await store.postMessage(message('called', { at: 30 }));
      await store.postMessage(message('called', { at: 35, name: 'again' }));
      const order = ['pressing', 'urgent', 'old', 'due', 'called', 'new', 'twin', 'low'];
      assert.deepEqual(await claimNext(store, { limit: 3 }), order.slice(0, 3));
      assert.deepEqual(await claimNext(store, { limit: 0 }), []);
      assert.deepEqual(await claimNext(store), order.slice(3));
    },

    'O1 only runs of the graphs and queues asked for are claimed, and those named are passed over': async ({
      store,
    }) => {
      const odd = 'nul\0 "quoted" \u{1f600}';
      await admitAll(store, {
        a: { graphId: 'one', schedule: { queue: 'fast' } },
        b: { graphId: 'two', schedule: { queue: 'fast' } },
        c: { graphId: 'one', schedule: { queue: odd } },
        d: { graphId: 'one' },
        [odd]: { graphId: odd, status: 'paused', waits: timer(1) },
      });
      assert.deepEqual(await claimNext(store, { graphs: [] }), []);
      assert.deepEqual(await claimNext(store, { queues: [] }), []);
      assert.deepEqual(await claimNext(store, { graphs: ['one', 'three'], queues: ['fast'] }), ['a']);
      assert.deepEqual(await claimNext(store, { queues: [odd] }), ['c']);
      assert.deepEqual(await claimNext(store, { graphs: [odd], except: [odd] }), []);
      assert.deepEqual(await claimNext(store, { graphs: [odd], queues: [''] }), [odd]);
      assert.deepEqual(await claimNext(store, { except: ['b'] }), ['d']);
      assert.deepEqual(await claimNext(store), ['b']);
    },

    'O1 of workers that ask at once, each run is given to one': async ({ store, reopen }) => {
      const ids = Array.from({ length: 30 }, (_, index) => `run ${index}`);
      await admitAll(store, Object.fromEntries(ids.map((id) => [id, {}])));
      const other = (await reopen()) ?? store;
      const stores = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? store : other));
      const granted = await Promise.all(stores.map((one) => claimNext(one, { limit: 4 })));
      const claimed = granted.flat();
      assert.equal(claimed.length, 30);
      assert.deepEqual([...new Set(claimed)].sort(), [...ids].sort());
    },

    'O1 the runs that can go on are listed in the order of their claims, and none is claimed by that': async ({
      store,
      advance,
    }) => {
      await startRun(store, 'claimed');
      await admitAll(store, {
        plain: { schedule: { dueAt: 3 } },
        urgent: { schedule: { dueAt: 4, priority: 1 } },
        other: { graphId: 'other', schedule: { dueAt: 1 } },
        due: { status: 'paused', waits: timer(2) },
        later: { status: 'paused', waits: timer(now + 1) },
        done: { status: 'completed' },
      });
      const list = (more: Partial<ClaimableQuery> = {}): Promise<readonly string[]> =>
        store.listClaimable({ tenant, at: now, limit: 10, ...more });
      assert.deepEqual(await list(), ['urgent', 'other', 'due', 'plain']);
      assert.deepEqual(await list(), ['urgent', 'other', 'due', 'plain']);
      assert.deepEqual(await list({ limit: 2 }), ['urgent', 'other']);
      assert.deepEqual(await list({ limit: 0 }), []);
      assert.deepEqual(await list({ graphs: ['other'] }), ['other']);
      assert.deepEqual(await list({ except: ['urgent'] }), ['other', 'due', 'plain']);
      assert.deepEqual(await list({ tenant: 'another' }), []);
      await advance(leaseMs + 1);
      assert.ok((await list()).includes('claimed'));
      assert.deepEqual(await claimNext(store, { limit: 1 }), ['urgent']);
      assert.deepEqual((await list()).includes('urgent'), false);
    },

    'O1 without a time of the caller, the clock of the store says what is due': async ({ store }) => {
      const future = Number.MAX_SAFE_INTEGER - 1;
      await admitAll(store, {
        due: { schedule: { dueAt: 0 } },
        timer: { status: 'paused', schedule: { dueAt: 0 }, waits: timer(0) },
        later: { schedule: { dueAt: future } },
        asleep: { status: 'paused', schedule: { dueAt: 0 }, waits: timer(future) },
      });
      const granted = await store.claimNext({ tenant, workerId: 'two', leaseMs, limit: 10 });
      assert.deepEqual(granted.map(({ run }) => run.runId).sort(), ['due', 'timer']);
    },

    'O1 a claim given so fences the one before it, writes, and is given back like any other': async ({
      store,
      advance,
    }) => {
      const before = await startRun(store, 'run');
      await advance(leaseMs + 1);
      const [granted] = await store.claimNext({ tenant, workerId: 'two', leaseMs, at: now, limit: 1 });
      assert.ok(granted);
      assert.ok(granted.claim.token > before.token);
      await expectCode(store.commit(commitOf(before, 1)), 'CLAIM_FENCED');
      await store.commit(commitOf(granted.claim, 1));
      await store.releaseClaim(granted.claim);
      assert.equal((await requireRun(store, 'run')).claim, undefined);
      assert.deepEqual(await claimNext(store), ['run']);
    },

    'O1 a run keeps the schedule it was admitted with': async ({ store }) => {
      const schedule = { queue: 'fast', key: 'customer 7', priority: 3, dueAt: 77 };
      await admitAll(store, { run: { schedule }, plain: {} });
      assert.deepEqual((await requireRun(store, 'run')).schedule, schedule);
      assert.deepEqual((await requireRun(store, 'plain')).schedule, { queue: '', priority: 0, dueAt: 1000 });
      const { rows } = await store.listRuns({ tenant, status: ['running'] });
      assert.deepEqual(
        rows.map(({ runId, status }) => [runId, status]),
        [
          ['plain', 'running'],
          ['run', 'running'],
        ],
      );
    },

    'W5 who watches a tenant is woken when a run of it may have become claimable, until he stops': async ({
      store,
    }) => {
      if (store.watch === undefined) return;
      const woken: string[] = [];
      const stop = store.watch(tenant, () => woken.push('one'));
      store.watch(tenant, () => woken.push('two'));
      store.watch('other', () => woken.push('other'));
      /** A wake may come up to a few calls after the one that causes it. */
      const isWoken = async (cause: () => Promise<unknown>): Promise<readonly string[]> => {
        woken.length = 0;
        await cause();
        for (let calls = 0; calls < 20 && woken.length === 0; calls += 1) await store.readRun(keyOf('run'));
        for (let calls = 0; calls < 5; calls += 1) await store.readRun(keyOf('run'));
        return [...new Set(woken)].sort();
      };
      const both = ['one', 'two'];
      assert.deepEqual(await isWoken(() => store.admitRun(admission('run'))), both);
      const claim = await requireClaim(store, 'run', 'three');
      assert.deepEqual(await isWoken(() => store.postMessage(message('run'))), both);
      assert.deepEqual(await isWoken(() => store.releaseClaim(claim)), both);
      stop();
      const again = message('run', { name: 'more', body: bytesOf('more') });
      assert.deepEqual(await isWoken(() => store.postMessage(again)), ['two']);
    },
  },
};
