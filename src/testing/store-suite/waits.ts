/** Tests of open waits: how they are listed, and what is due. */

import assert from 'node:assert/strict';
import type { WaitQuery } from '../../ports/store.ts';
import {
  bytesOf,
  commitOf,
  expectCode,
  keyOf,
  message,
  openWaitIds,
  requireClaim,
  startRun,
  tenant,
  wait,
  type Fixture,
  type SuitePart,
} from './examples.ts';

async function ids({ store }: Pick<Fixture, 'store'>, query: Omit<WaitQuery, 'tenant'> = {}): Promise<string[]> {
  const { rows } = await store.listWaits({ tenant, ...query });
  return rows.map(({ waitId }) => waitId);
}

async function openSeveral({ store }: Fixture): Promise<void> {
  const claim = await startRun(store, 'run', { waits: [wait('question')] });
  await store.commit(commitOf(claim, 1, { openWaits: [wait('late', { kind: 'timer', dueAt: 900 })] }));
  await store.commit(commitOf(claim, 2, { openWaits: [wait('signal', { kind: 'signal' })] }));
  const soon = wait('soon', { kind: 'timer', dueAt: 100 });
  await startRun(store, 'other', {
    graphId: 'other graph',
    waits: [soon, wait('doubt', { kind: 'doubt', dueAt: 500 })],
  });
}

export const waitsTests: SuitePart = {
  tests: {
    'W2 an open wait is listed with its run and graph, as it was handed in': async ({ store }) => {
      const opened = wait('w', { kind: 'retry', dueAt: 123, body: bytesOf('try again') });
      await startRun(store, 'run', { waits: [opened] });
      const { rows } = await store.listWaits({ tenant });
      assert.deepEqual(rows, [{ tenant, runId: 'run', graphId: 'graph', ...opened }]);
      await startRun(store, 'other', { waits: [wait('x')] });
      const [undue] = (await store.listWaits({ tenant, runId: 'other' })).rows;
      assert.deepEqual(undue, { tenant, runId: 'other', graphId: 'graph', ...wait('x') });
    },

    'W5 waits are listed soonest due first, then oldest': async (fixture) => {
      await openSeveral(fixture);
      assert.deepEqual(await ids(fixture), ['soon', 'doubt', 'late', 'question', 'signal']);
    },

    'E10.9 a store that counts what is open counts runs that have not ended, by status, and waits, and those overdue':
      async (fixture) => {
        const { store } = fixture;
        if (store.countOpen === undefined) return;
        const none = { runs: { running: 0, cancelling: 0, paused: 0 }, waits: 0, overdue: 0 };
        assert.deepEqual(await store.countOpen(tenant), none);
        await openSeveral(fixture);
        const ended = await startRun(store, 'ended');
        await store.commit(commitOf(ended, 1, { status: 'completed' }));
        const paused = await startRun(store, 'paused');
        await store.commit(commitOf(paused, 1, { status: 'paused' }));
        const cancelling = await startRun(store, 'cancelling');
        await store.commit(commitOf(cancelling, 1, { status: 'cancelling' }));
        // The store's clock is past all of these times.
        assert.deepEqual(await store.countOpen(tenant), {
          runs: { running: 2, cancelling: 1, paused: 1 },
          waits: 5,
          overdue: 3,
        });
        assert.deepEqual(await store.countOpen('another'), none);
      },

    'W5 waits are chosen by run, kind and due time': async (fixture) => {
      await openSeveral(fixture);
      assert.deepEqual(await ids(fixture, { runId: 'run' }), ['late', 'question', 'signal']);
      assert.deepEqual(await ids(fixture, { kinds: ['timer'] }), ['soon', 'late']);
      assert.deepEqual(await ids(fixture, { kinds: ['signal', 'doubt', 'question'] }), ['doubt', 'question', 'signal']);
      assert.deepEqual(await ids(fixture, { kinds: [] }), []);
      assert.deepEqual(await ids(fixture, { dueBy: 99 }), []);
      assert.deepEqual(await ids(fixture, { dueBy: 100 }), ['soon']);
      assert.deepEqual(await ids(fixture, { dueBy: 899 }), ['soon', 'doubt']);
      assert.deepEqual(await ids(fixture, { dueBy: 10_000, kinds: ['timer', 'question'] }), ['soon', 'late']);
      assert.deepEqual(await ids(fixture, { runId: 'run', kinds: ['question', 'timer'] }), ['late', 'question']);
      assert.deepEqual(await ids(fixture, { runId: 'run', dueBy: 900, kinds: ['timer'] }), ['late']);
      assert.deepEqual(await ids(fixture, { runId: 'none' }), []);
    },

    'W2 waits are chosen by whether an answer to them is posted and not taken': async (fixture) => {
      const { store } = fixture;
      await openSeveral(fixture);
      const other = await startRun(store, 'third', { waits: [wait('question'), wait('doubt', { kind: 'doubt' })] });
      for (const runId of ['run', 'other']) {
        const name = runId === 'run' ? 'question' : 'doubt';
        await store.postMessage(message(runId, { kind: 'answer', name }));
      }
      // Another kind of message, and an answer of another run, are no answers to a wait of that name.
      await store.postMessage(message('third', { kind: 'signal', name: 'question' }));
      assert.deepEqual(await ids(fixture, { isAnswered: true }), ['doubt', 'question']);
      assert.deepEqual(await ids(fixture, { isAnswered: false }), ['soon', 'late', 'signal', 'question', 'doubt']);
      assert.deepEqual(await ids(fixture, { isAnswered: true, kinds: ['doubt', 'timer'] }), ['doubt']);
      assert.deepEqual(await ids(fixture, { isAnswered: false, runId: 'run' }), ['late', 'signal']);
      const page = await store.listWaits({ tenant, isAnswered: false, limit: 2 });
      assert.deepEqual(
        await ids(fixture, { isAnswered: false, ...(page.cursor !== undefined && { cursor: page.cursor }) }),
        ['signal', 'question', 'doubt'],
      );
      // One that was taken says nothing of a wait that is open again under its id.
      await store.postMessage(message('third', { kind: 'answer', name: 'doubt' }));
      const [, posted] = await store.readMessages(keyOf('third'));
      await store.commit(
        commitOf(other, 1, {
          takeMessages: [posted?.id ?? -1],
          closeWaits: ['doubt'],
          openWaits: [wait('doubt', { kind: 'doubt' })],
        }),
      );
      assert.deepEqual(await ids(fixture, { isAnswered: true, runId: 'third' }), []);
      assert.deepEqual(await ids(fixture, { isAnswered: false, runId: 'third' }), ['question', 'doubt']);
    },

    'W2 a wait opened again under its id is one wait, with the newer content': async ({ store }) => {
      const claim = await startRun(store, 'run', { waits: [wait('a'), wait('b')] });
      await store.commit(commitOf(claim, 1, { openWaits: [wait('a', { dueAt: 50, body: bytesOf('newer') })] }));
      const { rows } = await store.listWaits({ tenant });
      assert.deepEqual(
        rows.map(({ waitId, dueAt }) => [waitId, dueAt]),
        [
          ['a', 50],
          ['b', undefined],
        ],
      );
      assert.deepEqual(rows[0]?.body, bytesOf('newer'));
      await store.commit(commitOf(claim, 2, { closeWaits: ['a', 'b'] }));
      assert.deepEqual(await openWaitIds(store, 'run'), []);
      await store.commit(commitOf(claim, 3, { openWaits: [wait('a')] }));
      assert.deepEqual(await openWaitIds(store, 'run'), ['a']);
    },

    'W2 a wait closed and opened by one commit is open after it': async ({ store }) => {
      const claim = await startRun(store, 'run', { waits: [wait('a')] });
      await store.commit(commitOf(claim, 1, { closeWaits: ['a'], openWaits: [wait('a', { kind: 'doubt' })] }));
      const { rows } = await store.listWaits({ tenant });
      assert.deepEqual(
        rows.map(({ kind }) => kind),
        ['doubt'],
      );
    },

    'WH2 a delivery is written with its commit, listed by itself, waited for by nobody, and cleared by anyone': async (
      fixture,
    ) => {
      const { store } = fixture;
      const claim = await startRun(store, 'run', { waits: [wait('question')] });
      const owed = wait('owed', { kind: 'delivery', body: bytesOf('tell them') });
      await store.commit(commitOf(claim, 1, { openWaits: [owed], status: 'completed', releases: true }));
      // One that is refused owes nothing.
      await expectCode(
        store.commit(commitOf(claim, 2, { openWaits: [wait('no', { kind: 'delivery' })] })),
        'CLAIM_FENCED',
      );
      const { rows } = await store.listWaits({ tenant, kinds: ['delivery'] });
      assert.deepEqual(rows, [{ tenant, runId: 'run', graphId: 'graph', ...owed }]);
      assert.deepEqual(await ids(fixture), ['question']);
      assert.deepEqual(await ids(fixture, { runId: 'run' }), ['question']);
      assert.deepEqual(await ids(fixture, { runId: 'run', kinds: ['delivery'] }), ['owed']);
      if (store.countOpen !== undefined) assert.equal((await store.countOpen(tenant)).waits, 1);
      const other = await startRun(store, 'paused');
      await store.commit(
        commitOf(other, 1, { openWaits: [wait('owed', { kind: 'delivery' })], status: 'paused', releases: true }),
      );
      assert.deepEqual(await store.listClaimable({ tenant, limit: 5 }), []);
      await store.clearDelivery(keyOf('run'), 'question');
      await store.clearDelivery(keyOf('none'), 'owed');
      await store.clearDelivery(keyOf('run'), 'owed');
      await store.clearDelivery(keyOf('run'), 'owed');
      assert.deepEqual(await ids(fixture), ['question']);
      const left = await store.listWaits({ tenant, kinds: ['delivery'] });
      assert.deepEqual(
        left.rows.map(({ runId }) => runId),
        ['paused'],
      );
    },

    'WH2 a delivery is there, and cleared, after the store was opened again': async (fixture) => {
      const { store, reopen } = fixture;
      const claim = await startRun(store, 'run');
      const openWaits = ['a', 'b'].map((id) => wait(id, { kind: 'delivery' }));
      await store.commit(commitOf(claim, 1, { openWaits }));
      await store.clearDelivery(keyOf('run'), 'a');
      const other = await reopen();
      if (other !== undefined) assert.deepEqual(await ids({ store: other }, { kinds: ['delivery'] }), ['b']);
    },

    'W2 waits of one id in two runs are two': async ({ store }) => {
      await startRun(store, 'one', { waits: [wait('same')] });
      await startRun(store, 'two', { waits: [wait('same')] });
      await store.commit(commitOf(await requireClaim(store, 'one', 'x', 'one'), 1, { closeWaits: ['same'] }));
      const { rows } = await store.listWaits({ tenant });
      assert.deepEqual(
        rows.map(({ runId }) => runId),
        ['two'],
      );
    },
  },
};
