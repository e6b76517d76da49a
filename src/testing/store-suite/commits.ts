/** Tests of commits: a commit is written completely or not at all, and is refused by itself. */

import assert from 'node:assert/strict';
import type { Durability } from '../../ports/store.ts';
import {
  bytesOf,
  checkpoint,
  commitMany,
  commitOf,
  expectCode,
  keyOf,
  message,
  openWaitIds,
  readSeqs,
  requireRun,
  startRun,
  wait,
  type SuitePart,
} from './examples.ts';

export const commitsTests: SuitePart = {
  tests: {
    'S3 a commit appends one checkpoint and moves the head': async ({ store }) => {
      const claim = await startRun(store, 'run');
      assert.deepEqual(await store.commit(commitOf(claim, 1)), { isHeld: true });
      const run = await requireRun(store, 'run');
      assert.equal(run.head, 1);
      assert.equal(run.createdAt, 1000);
      assert.equal(run.updatedAt, 1001);
      assert.deepEqual(await store.readCheckpoints(keyOf('run'), { from: 1, to: 1 }), [checkpoint(1)]);
    },

    'S3 status and graph hash stay unless a commit gives others': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await store.commit(commitOf(claim, 1, { status: 'paused', graphHash: 'hash 2' }));
      await store.commit(commitOf(claim, 2));
      const paused = await requireRun(store, 'run');
      assert.deepEqual([paused.status, paused.graphHash], ['paused', 'hash 2']);
      for (const status of ['running', 'completed', 'failed', 'cancelled'] as const) {
        const { head } = await requireRun(store, 'run');
        await store.commit(commitOf(claim, head + 1, { status }));
        assert.equal((await requireRun(store, 'run')).status, status);
      }
    },

    'S3 a commit opens and closes waits and takes messages with its checkpoint': async ({ store }) => {
      const claim = await startRun(store, 'run', { waits: [wait('a'), wait('b')] });
      await store.postMessage(message('run', { name: 'x' }));
      await store.postMessage(message('run', { name: 'y' }));
      const [first] = await store.readMessages(keyOf('run'));
      assert.ok(first);
      await store.commit(
        commitOf(claim, 1, { openWaits: [wait('c')], closeWaits: ['a', 'unknown'], takeMessages: [first.id] }),
      );
      assert.deepEqual(await openWaitIds(store, 'run'), ['b', 'c']);
      const remaining = await store.readMessages(keyOf('run'));
      assert.deepEqual(
        remaining.map(({ name }) => name),
        ['y'],
      );
    },

    'S3 a commit whose seq is not the next is refused and changes nothing': async ({ store }) => {
      const claim = await startRun(store, 'run', { waits: [wait('a')] });
      await store.commit(commitOf(claim, 1));
      await store.postMessage(message('run'));
      const before = { ...(await requireRun(store, 'run')), claim: undefined };
      const [posted] = await store.readMessages(keyOf('run'));
      assert.ok(posted);
      const changes = {
        status: 'failed',
        graphHash: 'other',
        openWaits: [wait('b')],
        closeWaits: ['a'],
        takeMessages: [posted.id],
      } as const;
      for (const seq of [0, 1, 3, 100]) {
        const refused = commitOf(claim, seq, { ...changes, checkpoint: checkpoint(seq, 'other') });
        const error = await expectCode(store.commit(refused), 'COMMIT_CONFLICT');
        assert.equal(error.data['head'], 1);
      }
      assert.deepEqual({ ...(await requireRun(store, 'run')), claim: undefined }, before);
      assert.deepEqual(await openWaitIds(store, 'run'), ['a']);
      assert.deepEqual(await readSeqs(store, 'run'), [0, 1]);
    },

    'E3 commits under way at once land in order, however many': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await commitMany(store, claim, 1, 400);
      assert.deepEqual(
        await readSeqs(store, 'run'),
        Array.from({ length: 401 }, (_, seq) => seq),
      );
    },

    'E3 what is committed behind a refused commit is refused too, and leaves no gap': async ({ store }) => {
      const claim = await startRun(store, 'run');
      const settled = await Promise.allSettled([1, 2, 4, 5, 6].map((seq) => store.commit(commitOf(claim, seq))));
      assert.deepEqual(
        settled.map(({ status }) => status),
        ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'rejected'],
      );
      await store.commit(commitOf(claim, 3));
      assert.deepEqual(await readSeqs(store, 'run'), [0, 1, 2, 3]);
    },

    'E3 a refused commit does not touch those of other runs made with it': async ({ store }) => {
      const [one, two, three] = await Promise.all(['one', 'two', 'three'].map((runId) => startRun(store, runId)));
      assert.ok(one && two && three);
      const settled = await Promise.allSettled([
        store.commit(commitOf(one, 1)),
        store.commit(commitOf(two, 7)),
        store.commit({ ...commitOf(three, 1), claim: { ...three, token: three.token - 1 } }),
        store.commit(commitOf(one, 2)),
        store.commit(commitOf(three, 1)),
      ]);
      assert.deepEqual(
        settled.map(({ status }) => status),
        ['fulfilled', 'rejected', 'rejected', 'fulfilled', 'fulfilled'],
      );
      assert.deepEqual(await readSeqs(store, 'one'), [0, 1, 2]);
      assert.deepEqual(await readSeqs(store, 'two'), [0]);
      assert.deepEqual(await readSeqs(store, 'three'), [0, 1]);
    },

    'E4 each durability the store declares is accepted': async ({ store }) => {
      const claim = await startRun(store, 'run');
      const all: readonly Durability[] = ['none', 'process', 'power'];
      for (const [index, durability] of all.slice(0, all.indexOf(store.capabilities.durability) + 1).entries()) {
        await store.commit(commitOf(claim, index + 1, { durability }));
        assert.equal((await requireRun(store, 'run')).head, index + 1);
      }
    },

    'S5 bytes of any value and length come back as they were': async ({ store }) => {
      const claim = await startRun(store, 'run');
      const every = Uint8Array.from({ length: 256 }, (_, index) => index);
      const bodies = [
        new Uint8Array(0),
        new Uint8Array(1),
        every,
        new Uint8Array(70_000).fill(255),
        bytesOf('\0"\\\u{1f600}'),
      ];
      bodies.push(new Uint8Array(3 * 1024 * 1024).map((_, index) => index * 7));
      for (const [index, body] of bodies.entries()) {
        await store.commit(commitOf(claim, index + 1, { checkpoint: { ...checkpoint(index + 1), body } }));
      }
      const rows = await store.readCheckpoints(keyOf('run'), { from: 1, to: 99 });
      for (const [index, body] of bodies.entries()) {
        assert.equal(Buffer.compare(rows[index]?.body ?? bytesOf('missing'), body), 0, `body of ${body.length} bytes`);
      }
    },
  },
};
