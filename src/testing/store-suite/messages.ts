/** Tests of messages (answers, signals, cancel requests, what is told of effects): each is a row, and the first of a name wins. */

import assert from 'node:assert/strict';
import type { MessageReply, Store } from '../../ports/store.ts';
import {
  admission,
  bytesOf,
  checkpoint,
  commitOf,
  expectCode,
  leaseMs,
  keyOf,
  message,
  readSeqs,
  requireClaim,
  requireRun,
  startRun,
  tenant,
  wait,
  type SuitePart,
} from './examples.ts';

function answer(store: Store, text: string, name = 'a'): Promise<MessageReply> {
  return store.postMessage(message('run', { kind: 'answer', name, body: bytesOf(text) }));
}

async function idsOf(store: Store): Promise<number[]> {
  return (await store.readMessages(keyOf('run'))).map(({ id }) => id);
}

export const messagesTests: SuitePart = {
  tests: {
    'O1 messages are read oldest first, as they were handed in': async ({ store }) => {
      await startRun(store, 'run', { waits: [wait('a')] });
      const posted = [
        message('run', { name: 's1', body: bytesOf('one'), at: 9 }),
        message('run', { kind: 'answer', name: 'a', body: bytesOf('two'), at: 8 }),
        message('run', { kind: 'cancel', name: '', body: new Uint8Array(0), at: 7 }),
      ];
      for (const one of posted) assert.deepEqual(await store.postMessage(one), { status: 'accepted' });
      const rows = await store.readMessages(keyOf('run'));
      assert.deepEqual(
        rows.map(({ kind, name, body, at, checksum }) => ({ tenant, runId: 'run', kind, name, body, at, checksum })),
        posted,
      );
      const ids = rows.map(({ id }) => id);
      assert.deepEqual(
        ids,
        [...new Set(ids)].sort((a, b) => a - b),
      );
      assert.equal((await requireRun(store, 'run')).hasMessages, true);
    },

    'W2 the first answer wins; an equal one is acknowledged, another is shown the first': async ({ store }) => {
      await startRun(store, 'run', { waits: [wait('a'), wait('b')] });
      assert.deepEqual(await answer(store, 'yes'), { status: 'accepted' });
      assert.deepEqual(await answer(store, 'yes'), { status: 'equal' });
      assert.deepEqual(await answer(store, 'no'), { status: 'taken', first: bytesOf('yes') });
      assert.deepEqual(await answer(store, 'no', 'b'), { status: 'accepted' });
    },

    'W2 of answers under way at once, one is accepted': async ({ store, reopen }) => {
      await startRun(store, 'run', { waits: [wait('a')] });
      const other = (await reopen()) ?? store;
      const texts = Array.from({ length: 10 }, (_, index) => `answer ${index}`);
      const replies = await Promise.all(texts.map((text, index) => answer(index % 2 === 0 ? store : other, text)));
      const winner = replies.findIndex(({ status }) => status === 'accepted');
      for (const [index, reply] of replies.entries()) {
        if (index === winner) continue;
        assert.deepEqual(reply, { status: 'taken', first: bytesOf(`answer ${winner}`) });
      }
      assert.equal((await idsOf(store)).length, 1);
    },

    'W8.2 a seat is taken in the write of its message, all seats or none, and whoever has it may take it again':
      async ({ store }) => {
        const claim = await startRun(store, 'run', { waits: [wait('a'), wait('b'), wait('c')] });
        const seated = (name: string, seats: readonly string[], text = 'yes'): Promise<MessageReply> =>
          store.postMessage(message('run', { kind: 'answer', name, body: bytesOf(text), seats }));
        assert.deepEqual(await seated('a', ['s', 't']), { status: 'accepted' });
        assert.deepEqual(await seated('b', ['u', 't']), { status: 'seated', seat: 't', holder: 'a' });
        assert.deepEqual(await idsOf(store).then(({ length }) => length), 1);
        // What was refused took nothing.
        assert.deepEqual(await seated('c', ['u']), { status: 'accepted' });
        assert.deepEqual(await seated('a', ['s', 't']), { status: 'equal' });
        assert.equal((await store.readMessages(keyOf('run'))).length, 2);
        await store.commit(commitOf(claim, 1, { closeWaits: ['a', 'c'], takeMessages: await idsOf(store) }));
        assert.equal((await requireRun(store, 'run')).hasMessages, false);
        assert.deepEqual(await seated('b', ['s']), { status: 'seated', seat: 's', holder: 'a' });
        await store.commit(commitOf(claim, 2, { openWaits: [wait('a')] }));
        assert.deepEqual(await seated('a', ['s'], 'no'), { status: 'accepted' });
      },

    'W8.2 of two messages under way at once, one has the seat: 40 times': async ({ store, reopen }) => {
      const other = (await reopen()) ?? store;
      for (let nth = 0; nth < 40; nth += 1) {
        const runId = `run-${nth}`;
        await startRun(store, runId, { waits: [wait('a'), wait('b')] });
        const sit = (to: Store, name: string): Promise<MessageReply> =>
          to.postMessage(message(runId, { kind: 'answer', name, body: bytesOf(name), seats: ['ann'] }));
        const replies = await Promise.all([sit(store, 'a'), sit(other, 'b')]);
        assert.deepEqual(replies.map(({ status }) => status).toSorted(), ['accepted', 'seated']);
        assert.equal((await store.readMessages(keyOf(runId))).length, 1);
      }
    },

    'W2 an answer that was taken stands while its wait is closed': async ({ store }) => {
      const claim = await startRun(store, 'run', { waits: [wait('a')] });
      await answer(store, 'yes');
      await store.commit(commitOf(claim, 1, { closeWaits: ['a'], takeMessages: await idsOf(store) }));
      assert.deepEqual(await answer(store, 'yes'), { status: 'equal' });
      assert.deepEqual(await answer(store, 'no'), { status: 'taken', first: bytesOf('yes') });
      assert.deepEqual(await idsOf(store), []);
      assert.equal((await requireRun(store, 'run')).hasMessages, false);
    },

    'W2 an answer to a wait that is not open is refused and not kept': async ({ store }) => {
      const claim = await startRun(store, 'run', { waits: [wait('a')] });
      assert.deepEqual(await answer(store, 'yes', 'unknown'), { status: 'closed' });
      await store.commit(commitOf(claim, 1, { closeWaits: ['a'] }));
      assert.deepEqual(await answer(store, 'yes'), { status: 'closed' });
      assert.deepEqual(await idsOf(store), []);
      await store.commit(commitOf(claim, 2, { openWaits: [wait('a')] }));
      assert.deepEqual(await answer(store, 'yes'), { status: 'accepted' });
    },

    'G10 a wait that is opened again after its answer was taken is answered anew': async ({ store }) => {
      const claim = await startRun(store, 'run', { waits: [wait('a')] });
      await answer(store, 'yes');
      await store.commit(commitOf(claim, 1, { closeWaits: ['a'], takeMessages: await idsOf(store) }));
      await store.commit(commitOf(claim, 2, { openWaits: [wait('a')] }));
      assert.deepEqual(await idsOf(store), []);
      assert.deepEqual(await answer(store, 'no'), { status: 'accepted' });
      assert.deepEqual(await answer(store, 'maybe'), { status: 'taken', first: bytesOf('no') });
      assert.equal((await idsOf(store)).length, 1);
    },

    'E7 a cancel request that was heeded may be followed by another': async ({ store }) => {
      const claim = await startRun(store, 'run');
      const cancel = message('run', { kind: 'cancel', name: '', body: bytesOf('by me') });
      assert.deepEqual(await store.postMessage(cancel), { status: 'accepted' });
      assert.deepEqual(await store.postMessage(cancel), { status: 'equal' });
      await store.commit(commitOf(claim, 1, { takeMessages: await idsOf(store) }));
      assert.deepEqual(await store.postMessage(cancel), { status: 'accepted' });
      assert.equal((await idsOf(store)).length, 1);
    },

    'W5 a signal is kept whether or not anything waits for it, and its id is taken once': async ({ store }) => {
      const claim = await startRun(store, 'run');
      const signal = message('run', { name: 'id 1', body: bytesOf('go') });
      const isPosted = (kind: 'signal' | 'answer', id = 'run'): Promise<boolean> =>
        store.hasMessage(keyOf(id), { kind, name: 'id 1' });
      assert.equal(await isPosted('signal'), false);
      assert.deepEqual(await store.postMessage(signal), { status: 'accepted' });
      assert.equal(await isPosted('signal'), true);
      await store.commit(commitOf(claim, 1, { takeMessages: await idsOf(store) }));
      assert.deepEqual(await store.postMessage(signal), { status: 'equal' });
      assert.deepEqual(await store.postMessage({ ...signal, body: bytesOf('stop') }), {
        status: 'taken',
        first: bytesOf('go'),
      });
      assert.deepEqual(await idsOf(store), []);
      assert.equal(await isPosted('signal'), true);
      assert.deepEqual([await isPosted('answer'), await isPosted('signal', 'none')], [false, false]);
    },

    'O2.8 what is told of an effect needs no claim, reaches whoever has the run, and its first word counts': async ({
      store,
      advance,
    }) => {
      const lost = await startRun(store, 'run');
      await advance(leaseMs + 1_000);
      const claim = await requireClaim(store, 'run', 'two');
      const told = message('run', { kind: 'effect', name: 'key 1', body: bytesOf('it ended') });
      assert.deepEqual(await store.postMessage(told), { status: 'accepted' });
      const [theirs, held] = await store.renewClaims([lost, claim]);
      assert.deepEqual([theirs?.isHeld, held], [false, { isHeld: true, hasMessages: true }]);
      assert.deepEqual(await store.postMessage({ ...told, body: bytesOf('it has not begun') }), {
        status: 'taken',
        first: bytesOf('it ended'),
      });
      await store.commit(commitOf(claim, 1, { takeMessages: await idsOf(store) }));
      assert.deepEqual(await store.postMessage(told), { status: 'equal' });
      assert.deepEqual(await idsOf(store), []);
    },

    'O2.8 what is told of an effect lets a paused run go on': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await store.commit(commitOf(claim, 1, { status: 'paused' }));
      await store.releaseClaim(claim);
      const next = { tenant, workerId: 'two', leaseMs, limit: 9 };
      assert.deepEqual(await store.claimNext(next), []);
      await store.postMessage(message('run', { kind: 'effect', name: 'key 1' }));
      assert.deepEqual(
        (await store.claimNext(next)).map(({ run }) => run.runId),
        ['run'],
      );
    },

    'O1 kinds do not share names': async ({ store }) => {
      await startRun(store, 'run', { waits: [wait('x')] });
      for (const kind of ['answer', 'signal', 'cancel', 'effect'] as const) {
        assert.deepEqual(await store.postMessage(message('run', { kind, name: 'x', body: bytesOf(kind) })), {
          status: 'accepted',
        });
      }
    },

    'O1 a message needs no claim and disturbs none': async ({ store }) => {
      const claim = await startRun(store, 'run', { waits: [wait('a')] });
      const replies = await Promise.all([
        store.commit(commitOf(claim, 1)),
        answer(store, 'yes'),
        store.commit(commitOf(claim, 2)),
      ]);
      assert.deepEqual(replies, [{ isHeld: true }, { status: 'accepted' }, { isHeld: true }]);
    },

    'W5.7 a run is admitted with its first message in one write, by whoever comes first, and takes each id once':
      async ({ store, reopen }) => {
        const other = (await reopen()) ?? store;
        for (let nth = 0; nth < 20; nth += 1) {
          const runId = `run-${nth}`;
          const first = { admission: admission(runId), isForOpen: true } as const;
          const send = (to: Store, name: string, text = name): Promise<MessageReply> =>
            to.postMessage(message(runId, { name, body: bytesOf(text), ...first }));
          const replies = await Promise.all([send(store, 'one'), send(other, 'two'), send(store, 'one')]);
          assert.deepEqual(replies.map((reply) => JSON.stringify(reply)).toSorted(), [
            '{"status":"accepted","created":true}',
            '{"status":"accepted"}',
            '{"status":"equal"}',
          ]);
          const { status, hasMessages, claims } = await requireRun(other, runId);
          assert.deepEqual([status, hasMessages, claims], ['running', true, 0]);
          const names = (await store.readMessages(keyOf(runId))).map(({ name }) => name);
          assert.deepEqual(names.toSorted(), ['one', 'two']);
          assert.deepEqual(await readSeqs(store, runId), [0]);
        }
        const next = await store.claimNext({ tenant, workerId: 'two', leaseMs, limit: 99 });
        assert.equal(next.length, 20);
      },

    'W5.7 a run that has ended takes no message that is for one that goes on': async ({ store }) => {
      for (const status of ['completed', 'failed', 'cancelled', 'paused', 'cancelling'] as const) {
        const claim = await startRun(store, status);
        const before = message(status, { name: 'before', isForOpen: true });
        const send = (name: string): Promise<MessageReply> =>
          store.postMessage(message(status, { name, isForOpen: true, admission: admission(status) }));
        assert.deepEqual(await store.postMessage(before), { status: 'accepted' });
        await store.commit(commitOf(claim, 1, { status, releases: true }));
        const isOpen = status === 'paused' || status === 'cancelling';
        assert.deepEqual(await send('after'), { status: isOpen ? 'accepted' : 'ended' });
        assert.deepEqual(await send('before'), { status: 'equal' });
        assert.equal((await store.readMessages(keyOf(status))).length, isOpen ? 2 : 1);
        assert.deepEqual(await store.postMessage(message(status, { name: 'whatever' })), { status: 'accepted' });
      }
    },

    'W5.7 a run that was admitted with its message is whole when the store is opened again': async ({
      store,
      reopen,
    }) => {
      await store.postMessage(message('run', { admission: admission('run'), isForOpen: true }));
      const other = (await reopen()) ?? store;
      assert.deepEqual(await other.readCheckpoints(keyOf('run'), { from: 0, to: 9 }), [checkpoint(0)]);
      assert.equal((await other.readMessages(keyOf('run'))).length, 1);
    },

    'O1 a message to a run that is not there is refused': async ({ store }) => {
      await expectCode(store.postMessage(message('none')), 'RUN_NOT_FOUND');
    },

    'O1 a commit takes messages of its own run only': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await startRun(store, 'other');
      await store.postMessage(message('other'));
      const [theirs] = await store.readMessages(keyOf('other'));
      await store.commit(commitOf(claim, 1, { takeMessages: [theirs?.id ?? -1, 999_999] }));
      assert.equal((await store.readMessages(keyOf('other'))).length, 1);
    },
  },
};
