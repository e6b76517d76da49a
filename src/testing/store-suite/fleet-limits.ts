/** Tests of what limits across the fleet need of a store: records that change together or not, lines of runs, and holders that are gone. */
import assert from 'node:assert/strict';
import type { LimitStore, LimitWrite, PlaceHolder } from '../../ports/limits.ts';
import type { Claim, Store } from '../../ports/store.ts';
import {
  admission,
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  message,
  renew,
  requireClaim,
  requireRun,
  startRun,
  tenant,
  wait,
  type SuitePart,
} from './examples.ts';

const limitsOf = (store: Store): LimitStore => {
  assert.ok(store.limits, 'the store has limits');
  return store.limits;
};

const put = (name: string, version: string, expected?: string): LimitWrite => ({
  tenant,
  changes: [{ name, version, body: `body ${version}`, ...(expected !== undefined && { expected }) }],
});

const park = (claim: Claim, rank: number, group?: string): LimitWrite => ({
  tenant,
  changes: [],
  park: [{ claim, line: 'line', rank, ...(group !== undefined && { group }) }],
});

const unpark = (...runIds: readonly string[]): LimitWrite => ({ tenant, changes: [], unpark: runIds });

async function claimAll(store: Store): Promise<readonly string[]> {
  const granted = await store.claimNext({ tenant, workerId: 'two', leaseMs, at: 1e15, limit: 10 });
  return granted.map(({ run }) => run.runId);
}

/** Holders as the store judges them, under the claims that it granted. */
const holderOf = ({ runId, token }: Claim): PlaceHolder => ({ runId, token });

export const fleetLimitsTests: SuitePart = {
  needs: 'limits',
  unsupported: {
    'S2 a store without limits has no part for them': async ({ store }) => assert.equal(store.limits, undefined),
  },
  tests: {
    'FL1 a record is written if it is as expected, and else it stays as it is': async ({ store }) => {
      const limits = limitsOf(store);
      assert.equal(await limits.write(put('a', '1')), true);
      assert.equal(await limits.write(put('a', '2')), false);
      assert.equal(await limits.write(put('a', '2', '0')), false);
      assert.equal(await limits.write(put('b', '2', '1')), false);
      assert.equal(await limits.write(put('a', '2', '1')), true);
      assert.deepEqual(await limits.read(tenant, ['a', 'b']), [{ name: 'a', version: '2', body: 'body 2' }]);
      assert.deepEqual(await limits.read('other', ['a']), []);
    },

    'FL1 of several records all are written, or none': async ({ store }) => {
      const limits = limitsOf(store);
      await limits.write({ tenant, changes: [...put('a', '1').changes, ...put('b', '1').changes] });
      const stale = [...put('b', '2', '1').changes, ...put('a', '2', '0').changes];
      assert.equal(await limits.write({ tenant, changes: stale }), false);
      const mixed = [
        ...put('b', '2', '1').changes,
        ...put('c', '2').changes,
        { name: 'a', expected: '1', version: '2' },
      ];
      assert.equal(await limits.write({ tenant, changes: mixed }), true);
      const names = (await limits.list(tenant, { limit: 9 })).map(({ name, version }) => `${name} ${version}`);
      assert.deepEqual(names, ['b 2', 'c 2']);
    },

    'FL1 records and lines are listed by name, from a prefix and behind a name': async ({ store }) => {
      const limits = limitsOf(store);
      for (const name of ['k:b', 'n:a', 'k:nul\0', 'k:a', 'k:\u{1f600}', 'k%'])
        assert.equal(await limits.write(put(name, '1')), true);
      const list = async (prefix: string, after?: string, limit = 9): Promise<readonly string[]> =>
        (await limits.list(tenant, { prefix, limit, ...(after !== undefined && { after }) })).map(({ name }) => name);
      assert.deepEqual(await list('k:'), ['k:a', 'k:b', 'k:nul\0', 'k:\u{1f600}']);
      assert.deepEqual(await list('k:', 'k:b', 1), ['k:nul\0']);
      assert.deepEqual(await list(''), ['k%', 'k:a', 'k:b', 'k:nul\0', 'k:\u{1f600}', 'n:a']);
      for (const line of ['y', 'x', 'z']) {
        const claim = await startRun(store, line);
        await limits.write({ tenant, changes: [], park: [{ claim, line, rank: 1 }] });
      }
      assert.deepEqual(await limits.listLines(tenant, { limit: 2 }), ['x', 'y']);
      assert.deepEqual(await limits.listLines(tenant, { limit: 9, after: 'x' }), ['y', 'z']);
    },

    'FL1 of writes of one record under way at once, one lands': async ({ store, reopen }) => {
      const other = limitsOf((await reopen()) ?? store);
      const limits = limitsOf(store);
      for (const expected of [undefined, '0']) {
        const tries = Array.from({ length: 8 }, (_, index) =>
          put('a', expected === undefined ? '0' : `${index + 1}`, expected),
        );
        const landed = await Promise.all(tries.map((write, index) => (index % 2 === 0 ? limits : other).write(write)));
        assert.equal(landed.filter(Boolean).length, 1);
      }
      const pairs = await Promise.all(
        Array.from({ length: 8 }, (_, index) => {
          const both = [...put('b', `${index}`).changes, ...put('c', `${index}`).changes];
          return (index % 2 === 0 ? limits : other).write({ tenant, changes: index % 2 === 0 ? both : both.reverse() });
        }),
      );
      assert.equal(pairs.filter(Boolean).length, 1);
    },

    'FL2 a parked run is given up, and not claimed before it leaves its line': async ({ store, advance }) => {
      const limits = limitsOf(store);
      const claim = await startRun(store, 'run');
      assert.equal(await limits.write(park(claim, 1)), true);
      assert.equal(await renew(store, claim), 'fenced');
      await expectCode(store.commit(commitOf(claim, 1)), 'CLAIM_FENCED');
      await advance(leaseMs * 2);
      assert.deepEqual(await claimAll(store), []);
      assert.equal((await requireRun(store, 'run')).status, 'paused');
      await limits.write(unpark('run', 'none'));
      assert.equal((await requireRun(store, 'run')).status, 'running');
      assert.deepEqual(await claimAll(store), ['run']);
    },

    'FL2 a parked run is claimed for a message or a wait that is due, and goes back to its place': async ({
      store,
    }) => {
      const limits = limitsOf(store);
      await limits.write(park(await startRun(store, 'first', { waits: [wait('a', { dueAt: 5 })] }), 1));
      await limits.write(park(await startRun(store, 'second'), 2));
      await store.postMessage(message('second'));
      assert.deepEqual(await claimAll(store), ['first', 'second']);
      const again = await requireClaim(store, 'second', 'three', 'two');
      const [posted] = await store.readMessages(keyOf('second'));
      await store.commit(commitOf(again, 1, { takeMessages: [posted?.id ?? -1], status: 'running' }));
      await limits.write(park(await requireClaim(store, 'first', 'three', 'two'), 9));
      await limits.write(park(again, 9));
      assert.deepEqual((await limits.readLine(tenant, 'line', { limit: 9 })).first, [
        { runId: 'first', priority: 0, rank: 1 },
        { runId: 'second', priority: 0, rank: 2 },
      ]);
    },

    'FL2 a line goes by priority, then rank, then age, and tells the last rank of a group': async ({ store }) => {
      const limits = limitsOf(store);
      const ranks: readonly (readonly [string, number, number, string])[] = [
        ['late', 0, 7, 'ann'],
        ['early', 0, 3, 'bob'],
        ['urgent', 5, 9, 'ann'],
        ['twin', 0, 3, 'ann'],
      ];
      for (const [runId, priority, rank, group] of ranks)
        await limits.write(park(await startRun(store, runId, { schedule: { priority } }), rank, group));
      const { first, lastRank } = await limits.readLine(tenant, 'line', { limit: 3, group: 'ann' });
      assert.deepEqual(
        first.map(({ runId }) => runId),
        ['urgent', 'early', 'twin'],
      );
      assert.equal(lastRank, 9);
      assert.equal((await limits.readLine(tenant, 'line', { limit: 1, group: 'eve' })).lastRank, undefined);
      assert.deepEqual(await limits.findInLine(keyOf('late')), { line: 'line', ahead: 3 });
      assert.equal(await limits.findInLine(keyOf('none')), undefined);
    },

    'FL2 a park under a claim that is gone does nothing, and runs that end or are removed are in no line': async ({
      store,
      supports,
    }) => {
      const limits = limitsOf(store);
      const old = await startRun(store, 'run');
      const claim = await requireClaim(store, 'run', 'two', 'one');
      await limits.write(park(old, 1));
      assert.deepEqual((await limits.readLine(tenant, 'line', { limit: 9 })).first, []);
      await limits.write(park(claim, 1));
      const last = await requireClaim(store, 'run', 'three');
      await store.commit(commitOf(last, 1, { status: 'cancelled', releases: true }));
      assert.deepEqual((await limits.readLine(tenant, 'line', { limit: 9 })).first, []);
      await limits.write(unpark('run'));
      assert.equal((await requireRun(store, 'run')).status, 'cancelled');
      if (!supports.removal) return;
      await limits.write(park(await startRun(store, 'gone'), 1));
      await store.removeRun(keyOf('gone'));
      await store.admitRun(admission('gone'));
      assert.deepEqual((await limits.readLine(tenant, 'line', { limit: 9 })).first, []);
    },

    'FL2 records that are not as expected park nothing and let nothing out': async ({ store }) => {
      const limits = limitsOf(store);
      const [one, two] = [await startRun(store, 'one'), await startRun(store, 'two')];
      await limits.write(park(one, 1));
      const { changes } = put('a', '2', 'wrong');
      assert.equal(await limits.write({ ...park(two, 2), changes, unpark: ['one'] }), false);
      assert.equal(await renew(store, two), 'held');
      assert.deepEqual(await claimAll(store), []);
    },

    'FL3 a claim whose lease has run out is revoked when it is asked about, and can be renewed no more': async ({
      store,
      advance,
    }) => {
      const limits = limitsOf(store);
      const lapsed = await startRun(store, 'lapsed');
      await advance(leaseMs + 1);
      const live = await startRun(store, 'live');
      const asked = [holderOf(lapsed), holderOf(live), { runId: 'none', token: 1 }, { ...holderOf(live), token: 7 }];
      assert.deepEqual(await limits.check(tenant, asked), [false, true, false, false]);
      assert.equal(await renew(store, lapsed), 'fenced');
      await expectCode(store.commit(commitOf(lapsed, 1)), 'CLAIM_FENCED');
      assert.equal(await renew(store, live), 'held');
      await store.releaseClaim(live);
      assert.deepEqual(await limits.check(tenant, [holderOf(live)]), [false]);
      assert.deepEqual([...(await claimAll(store))].sort(), ['lapsed', 'live']);
      assert.deepEqual(await limits.check('other', [holderOf(live)]), [false]);
    },

    'FL3 a run holds until it has ended': async ({ store }) => {
      const limits = limitsOf(store);
      const claim = await startRun(store, 'done');
      await store.admitRun(admission('asleep', { status: 'paused' }));
      const asked = [{ runId: 'done' }, { runId: 'asleep' }, { runId: 'none' }];
      assert.deepEqual(await limits.check(tenant, asked), [true, true, false]);
      await store.commit(commitOf(claim, 1, { status: 'failed', releases: true }));
      assert.deepEqual(await limits.check(tenant, asked), [false, true, false]);
    },
  },
};
