/** Tests of retention: runs that ended, their removal many at once, and the lines that removed runs leave. For stores that have them. */
import assert from 'node:assert/strict';
import type { EndedQuery, EndedRuns, Removals } from '../../ports/removals.ts';
import type { Store } from '../../ports/store.ts';
import {
  admission,
  checkpoint,
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  message,
  readSeqs,
  requireClaim,
  startRun,
  tenant,
  wait,
  type Fixture,
  type SuitePart,
} from './examples.ts';

const dayMs = 86_400_000;
const expired = { because: 'expired', rememberMs: 30 * dayMs } as const;

/** Runs a run to its end at a time. */
async function endRun(
  store: Store,
  runId: string,
  {
    at = 2000,
    status = 'completed',
    graphId = 'graph',
  }: { at?: number; status?: EndedQuery['status']; graphId?: string } = {},
): Promise<void> {
  const claim = await startRun(store, runId, { graphId });
  await store.commit(commitOf(claim, 1, { checkpoint: { ...checkpoint(1), at }, status, releases: true }));
}

/** A test for stores that can do it. */
const withEnded =
  (run: (fixture: Fixture, ended: EndedRuns) => Promise<void>) =>
  async (fixture: Fixture): Promise<void> => {
    if (fixture.store.ended !== undefined) await run(fixture, fixture.store.ended);
  };

const withRemovals =
  (run: (fixture: Fixture, removals: Removals) => Promise<void>) =>
  async (fixture: Fixture): Promise<void> => {
    if (fixture.store.removals !== undefined) await run(fixture, fixture.store.removals);
  };

export const retentionTests: SuitePart = {
  needs: 'removal',
  tests: {
    'S4 runs that ended are listed in the order of their ends, page by page': withEnded(async ({ store }, ended) => {
      for (const [runId, at] of Object.entries({ c: 3000, a: 1000, b: 2000, d: 3000 }))
        await endRun(store, runId, { at });
      await endRun(store, 'failed', { status: 'failed' });
      await endRun(store, 'other', { graphId: 'other' });
      await startRun(store, 'open');
      const query = { tenant, graphId: 'graph', status: 'completed' } as const;
      const seen: [string, number][] = [];
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
        const page = await ended.list({ ...query, limit: 2, ...(cursor !== undefined && { cursor }) });
        for (const { runId, endedAt } of page.rows) seen.push([runId, endedAt]);
        cursor = page.cursor;
      }
      assert.deepEqual(seen, [
        ['a', 1000],
        ['b', 2000],
        ['c', 3000],
        ['d', 3000],
      ]);
      assert.deepEqual(await ended.graphs(tenant), ['graph', 'other']);
      assert.deepEqual(await ended.graphs('nobody'), []);
    }),

    'S4 ended runs are chosen by age, and beyond a number of them whatever their status': withEnded(
      async ({ store }, ended) => {
        for (const at of [1, 2, 3, 4]) await endRun(store, `done-${at}`, { at: at * 1000 });
        for (const at of [5, 6]) await endRun(store, `failed-${at}`, { at: at * 1000, status: 'failed' });
        const list = async (query: Partial<EndedQuery>): Promise<readonly string[]> =>
          (await ended.list({ tenant, graphId: 'graph', status: 'completed', limit: 9, ...query })).rows.map(
            ({ runId }) => runId,
          );
        assert.deepEqual(await list({ endedBefore: 3000 }), ['done-1', 'done-2']);
        assert.deepEqual(await list({ beyond: 3 }), ['done-1', 'done-2', 'done-3']);
        assert.deepEqual(await list({ beyond: 3, endedBefore: 4001 }), ['done-1', 'done-2', 'done-3', 'done-4']);
        assert.deepEqual(await list({ beyond: 3, status: 'failed' }), []);
        assert.deepEqual(await list({ beyond: 1, status: 'failed' }), ['failed-5']);
        assert.deepEqual(await list({ beyond: 6 }), []);
        assert.deepEqual(await list({ beyond: 0, status: 'failed' }), ['failed-5', 'failed-6']);
      },
    ),

    'S4 of runs that ended in one millisecond as many stay as are to stay': withEnded(async ({ store }, ended) => {
      for (let n = 0; n < 10; n += 1) await endRun(store, `run-${n}`);
      const query = { tenant, graphId: 'graph', status: 'completed', limit: 20 } as const;
      const beyond = (await ended.list({ ...query, beyond: 3 })).rows.map(({ runId }) => runId);
      assert.deepEqual(beyond, ['run-0', 'run-1', 'run-2', 'run-3', 'run-4', 'run-5', 'run-6']);
    }),

    'H1 many runs are removed at once, but for those that something needs or that have not ended': withRemovals(
      async ({ store, supports }, removals) => {
        for (const runId of ['a', 'b', 'forked', 'tagged', 'claimed']) await endRun(store, runId);
        await store.admitRun(admission('fork', { parent: { runId: 'forked', seq: 1 } }));
        if (supports.tags) await store.tagCheckpoint(keyOf('tagged'), { name: 't', seq: 1 });
        await requireClaim(store, 'claimed', 'two');
        const owing = await startRun(store, 'owing');
        const owed = { openWaits: [wait('hook', { kind: 'delivery' })], status: 'completed', releases: true } as const;
        await store.commit(commitOf(owing, 1, owed));
        await startRun(store, 'open');
        const runIds = ['a', 'forked', 'tagged', 'claimed', 'open', 'owing', 'none', 'b'].filter(
          (runId) => supports.tags || runId !== 'tagged',
        );
        assert.deepEqual([...(await removals.remove({ tenant, runIds, ...expired }))].sort(), ['a', 'b']);
        assert.equal(await store.readRun(keyOf('a')), undefined);
        assert.deepEqual(await readSeqs(store, 'b'), []);
        for (const runId of ['forked', 'tagged', 'claimed', 'open', 'fork'])
          assert.ok(await store.readRun(keyOf(runId)));
        assert.deepEqual(await removals.remove({ tenant: 'other', runIds: ['tagged'], ...expired }), []);
      },
    ),

    'H1 a removed run is remembered, and none begins under its id before the time is over': withRemovals(
      async ({ store, advance, reopen }, removals) => {
        for (const runId of ['many', 'one', 'again']) await endRun(store, runId);
        await removals.remove({ tenant, runIds: ['many', 'again'], ...expired });
        await store.removeRun(keyOf('one'), { because: 'removed', rememberMs: 1000 });
        const other = (await reopen()) ?? store;
        const line = await other.removals?.read(keyOf('many'));
        assert.equal(line?.because, 'expired');
        assert.equal(line.until - line.removedAt, expired.rememberMs);
        const error = await expectCode(other.admitRun(admission('many')), 'RUN_EXPIRED');
        assert.equal(error.data['runId'], 'many');
        await expectCode(other.admitRun(admission('one')), 'RUN_EXPIRED');
        await expectCode(other.postMessage(message('one', { admission: admission('one') })), 'RUN_EXPIRED');
        assert.equal(await other.readRun(keyOf('one')), undefined, 'nothing was written');
        assert.equal((await other.admitRun(admission('many', { tenant: 'other' }))).created, true);
        assert.equal((await other.admitRun(admission('again', { revives: true }))).created, true);
        assert.equal(await other.removals?.read(keyOf('again')), undefined);
        await advance(1001);
        assert.equal(await other.removals?.read(keyOf('one')), undefined);
        assert.equal((await other.admitRun(admission('one'))).created, true);
        assert.equal(await removals.forget(keyOf('many')), true);
        assert.equal(await removals.forget(keyOf('many')), false);
        assert.equal((await store.admitRun(admission('many'))).created, true);
      },
    ),

    'H1 of admissions and the removal of one id, at most one run is there, and none that was removed': withRemovals(
      async ({ store, reopen }, removals) => {
        const other = (await reopen()) ?? store;
        for (let round = 0; round < 10; round += 1) {
          const runId = `run-${round}`;
          await endRun(store, runId);
          const admitted = Array.from({ length: 4 }, () =>
            other.admitRun(admission(runId)).then(
              ({ created }) => created,
              () => false,
            ),
          );
          await removals.remove({ tenant, runIds: [runId], ...expired });
          assert.deepEqual(await Promise.all(admitted), [false, false, false, false]);
        }
      },
    ),

    'O1 a duty is one worker’s until its lease is over': withRemovals(async ({ store, advance, reopen }, removals) => {
      const theirs = (await reopen())?.removals ?? store.removals ?? removals;
      assert.equal(await removals.takeDuty('clean', 'one', leaseMs), true);
      assert.equal(await theirs.takeDuty('clean', 'two', leaseMs), false);
      assert.equal(await theirs.takeDuty('sweep', 'two', leaseMs), true);
      assert.equal(await removals.takeDuty('clean', 'one', leaseMs), true, 'who has it keeps it');
      await advance(leaseMs + 1);
      assert.equal(await theirs.takeDuty('clean', 'two', leaseMs), true);
      assert.equal(await removals.takeDuty('clean', 'one', leaseMs), false);
    }),
  },
};
