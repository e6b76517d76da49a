/** Tests of listings: newest first, filtered, in pages that neither repeat rows nor leave any out. */

import assert from 'node:assert/strict';
import type { RunQuery, Store } from '../../ports/store.ts';
import {
  admission,
  bytesOf,
  checkpoint,
  commitOf,
  expectCode,
  keyOf,
  startRun,
  tenant,
  wait,
  type SuitePart,
} from './examples.ts';

/** The runs that a query lists, which are as many as a store counts that can. */
async function list(store: Store, query: Omit<RunQuery, 'tenant'> = {}): Promise<string[]> {
  const { rows } = await store.listRuns({ tenant, ...query });
  if (store.countRuns !== undefined) assert.equal(await store.countRuns({ tenant, ...query }), rows.length);
  return rows.map(({ runId }) => runId);
}

/** All rows of a listing, page by page. */
async function turnPages<Row>(
  read: (cursor: string | undefined) => Promise<{ readonly rows: readonly Row[]; readonly cursor?: string }>,
): Promise<{ rows: Row[]; pages: number }> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const page = await read(cursor);
    rows.push(...page.rows);
    cursor = page.cursor;
    if (cursor === undefined) return { rows, pages };
    assert.ok(pages < 100, 'the pages come to an end');
  }
}

export const pagingTests: SuitePart = {
  tests: {
    'S4 runs are listed newest first': async ({ store }) => {
      for (const runId of ['b', 'c', 'a']) await store.admitRun(admission(runId));
      assert.deepEqual(await list(store), ['a', 'c', 'b']);
    },

    'S4 runs are chosen by status, graph and parent': async ({ store }) => {
      await store.admitRun(admission('a', { status: 'paused' }));
      await store.admitRun(admission('b', { graphId: 'other' }));
      await store.admitRun(admission('c', { parent: { runId: 'a', seq: 0 } }));
      await store.admitRun(admission('d', { status: 'failed', parent: { runId: 'a', seq: 0 } }));
      assert.deepEqual(await list(store, { status: ['running'] }), ['c', 'b']);
      assert.deepEqual(await list(store, { status: ['failed', 'paused'] }), ['d', 'a']);
      assert.deepEqual(await list(store, { status: [] }), []);
      assert.deepEqual(await list(store, { graphId: 'other' }), ['b']);
      assert.deepEqual(await list(store, { parentRunId: 'a' }), ['d', 'c']);
      assert.deepEqual(await list(store, { parentRunId: 'a', status: ['running'], graphId: 'graph' }), ['c']);
    },

    'S4 labels are changed with the meta that tells of them, by whoever has read it, and runs are found by the new ones':
      async ({ store, supports, reopen }) => {
        if (store.labelRun === undefined) return;
        const [first, second] = [bytesOf('first'), bytesOf('second')];
        const claim = await startRun(store, 'a', { labels: { user: 'ann', team: 'x\u0000y' }, meta: first });
        await store.admitRun(admission('b', { labels: { user: 'ann' }, meta: first }));
        await store.admitRun({ ...admission('a', { labels: { user: 'ann' }, meta: first }), tenant: 'other' });
        const change = { ...keyOf('a'), labels: { user: 'bob', 'o\'"d\u0000d': '' }, meta: second, oldMeta: first };
        assert.equal(await store.labelRun(change), true);
        // Again, as who got no reply does; and by who has read what is there no more.
        assert.equal(await store.labelRun(change), true);
        assert.equal(await store.labelRun({ ...change, labels: {}, meta: bytesOf('third') }), false);
        const check = async (from: Store): Promise<void> => {
          assert.deepEqual((await from.readRun(keyOf('a')))?.meta, second);
          assert.deepEqual(await list(from, { labels: { user: 'ann' } }), ['b']);
          assert.deepEqual(await list(from, { labels: { user: 'bob', 'o\'"d\u0000d': '' } }), ['a']);
          assert.deepEqual(await list(from, { labels: { team: 'x\u0000y' } }), []);
          if (from.countRuns) assert.equal(await from.countRuns({ tenant, labels: { user: 'bob' } }), 1);
          assert.equal((await from.listRuns({ tenant: 'other', labels: { user: 'ann' } })).rows.length, 1);
        };
        await check(store);
        // Who advances the run is not held up, and a run that has ended has labels too.
        await store.commit(commitOf(claim, 1, { status: 'completed', releases: true }));
        await check(store);
        const reopened = await reopen?.();
        if (reopened !== undefined) await check(reopened);
        await expectCode(store.labelRun({ ...change, ...keyOf('none') }), 'RUN_NOT_FOUND');
        if (!supports.removal) return;
        await store.removeRun(keyOf('a'));
        assert.deepEqual(await list(store, { labels: { user: 'bob' } }), []);
      },

    'S4 runs are chosen by labels, and by when they were created': async ({ store }) => {
      const at = (seq: number) => ({ ...checkpoint(0), at: seq });
      await store.admitRun(admission('a', { labels: { user: 'ann', 'o\'"d\u0000d': 'x' }, checkpoint: at(100) }));
      await store.admitRun(
        admission('b', { labels: { user: 'ann', team: '' }, status: 'paused', checkpoint: at(200) }),
      );
      await store.admitRun(admission('c', { labels: { user: 'bob' }, checkpoint: at(300) }));
      await store.admitRun(admission('d', { checkpoint: at(400) }));
      await store.admitRun({ ...admission('e', { labels: { user: 'ann' } }), tenant: 'other' });
      assert.deepEqual(await list(store, { labels: { user: 'ann' } }), ['b', 'a']);
      assert.deepEqual(await list(store, { labels: { user: 'ann', team: '' } }), ['b']);
      assert.deepEqual(await list(store, { labels: { 'o\'"d\u0000d': 'x' } }), ['a']);
      assert.deepEqual(await list(store, { labels: { user: 'ann' }, status: ['running'] }), ['a']);
      assert.deepEqual(await list(store, { labels: { user: 'nobody' } }), []);
      assert.deepEqual(await list(store, { labels: { toString: 'x' } }), []);
      assert.deepEqual(await list(store, { labels: {} }), ['d', 'c', 'b', 'a']);
      assert.deepEqual(await list(store, { since: 200, until: 400 }), ['c', 'b']);
      assert.deepEqual(await list(store, { labels: { user: 'ann' }, until: 200 }), ['a']);
    },

    'S4 runs are counted without those whose ids begin in some way': async ({ store }) => {
      if (store.countRuns === undefined) return;
      for (const runId of ['a:1', 'a:2\u{10ffff}', 'a', 'b:1', 'c'])
        await store.admitRun(admission(runId, { labels: { user: 'ann' } }));
      for (const labels of [{}, { user: 'ann' }])
        assert.deepEqual(
          [
            await store.countRuns({ tenant, labels, exceptIds: [] }),
            await store.countRuns({ tenant, labels, exceptIds: ['a:', 'b:'] }),
            await store.countRuns({
              tenant,
              labels,
              exceptIds: ['a'],
              graphId: 'graph',
              status: ['running', 'failed'],
            }),
          ],
          [5, 2, 2],
        );
    },

    'S4 pages of runs with a label neither repeat nor leave out': async ({ store }) => {
      for (let index = 0; index < 10; index += 1)
        await store.admitRun(admission(`r${index}`, { labels: { odd: String(index % 2) } }));
      const { rows } = await turnPages((cursor) =>
        store.listRuns({ tenant, labels: { odd: '1' }, limit: 2, ...(cursor !== undefined && { cursor }) }),
      );
      assert.deepEqual(
        rows.map(({ runId }) => runId),
        ['r9', 'r7', 'r5', 'r3', 'r1'],
      );
    },

    'S4 a run moves in the listings with its status': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await store.commit(commitOf(claim, 1, { status: 'completed' }));
      assert.deepEqual(await list(store, { status: ['running'] }), []);
      const { rows } = await store.listRuns({ tenant, status: ['completed'] });
      assert.deepEqual(
        rows.map(({ runId, head, updatedAt, status }) => [runId, head, updatedAt, status]),
        [['run', 1, 1001, 'completed']],
      );
    },

    'S4 pages of runs neither repeat nor leave out, whatever is admitted meanwhile': async ({ store }) => {
      const statuses = ['running', 'paused', 'failed'] as const;
      for (let index = 0; index < 25; index += 1) {
        await store.admitRun(admission(`run ${index}`, { status: statuses[index % 3] ?? 'running' }));
      }
      let admitted = 0;
      const { rows, pages } = await turnPages(async (cursor) => {
        const page = await store.listRuns({ tenant, limit: 4, ...(cursor === undefined ? {} : { cursor }) });
        assert.ok(page.rows.length <= 4);
        admitted += 1;
        await store.admitRun(admission(`later ${admitted}`));
        return page;
      });
      assert.deepEqual(
        rows.map(({ runId }) => runId),
        Array.from({ length: 25 }, (_, index) => `run ${24 - index}`),
      );
      assert.equal(pages, 7);
      const paused = await turnPages((cursor) =>
        store.listRuns({ tenant, status: ['paused', 'failed'], limit: 3, ...(cursor === undefined ? {} : { cursor }) }),
      );
      assert.equal(paused.rows.length, 16);
      assert.equal(new Set(paused.rows.map(({ runId }) => runId)).size, 16);
    },

    'S4 the last full page has no cursor': async ({ store }) => {
      for (const runId of ['a', 'b', 'c', 'd']) await store.admitRun(admission(runId, { waits: [wait('w')] }));
      const first = await store.listRuns({ tenant, limit: 2 });
      assert.ok(first.cursor !== undefined);
      assert.equal((await store.listRuns({ tenant, limit: 2, cursor: first.cursor })).cursor, undefined);
      assert.equal((await store.listRuns({ tenant, limit: 4 })).cursor, undefined);
      assert.equal((await store.listWaits({ tenant, limit: 4 })).cursor, undefined);
    },

    'S4 pages of waits neither repeat nor leave out, due times being equal or absent': async ({ store }) => {
      const dueAt = [undefined, 5, 5, 7, undefined, 5, 1];
      const kinds = ['timer', 'question'] as const;
      for (let index = 0; index < 21; index += 1) {
        const due = dueAt[index % dueAt.length];
        const opened = wait(`w${index}`, {
          kind: kinds[index % 2] ?? 'timer',
          ...(due === undefined ? {} : { dueAt: due }),
        });
        await store.admitRun(admission(`run ${index}`, { waits: [opened] }));
      }
      for (const query of [{}, { kinds }, { dueBy: 6 }]) {
        const whole = await store.listWaits({ tenant, ...query });
        const { rows } = await turnPages((cursor) =>
          store.listWaits({ tenant, limit: 2, ...query, ...(cursor === undefined ? {} : { cursor }) }),
        );
        assert.deepEqual(rows, whole.rows);
      }
      const ofRun = await turnPages((cursor) =>
        store.listWaits({ tenant, runId: 'run 3', limit: 1, ...(cursor === undefined ? {} : { cursor }) }),
      );
      assert.equal(ofRun.rows.length, 1);
    },
  },
};
