/** Tests of unusual ids and sizes that are allowed. */

import assert from 'node:assert/strict';
import {
  admission,
  bytesOf,
  commitOf,
  keyOf,
  message,
  openWaitIds,
  readSeqs,
  startRun,
  tenant,
  wait,
  type SuitePart,
} from './examples.ts';

const oddIds = [
  '../../etc/passwd',
  'a/b\\c',
  'nul\0inside',
  '\u{1f600}\u{1f601}',
  '__proto__',
  'constructor',
  "'; drop table runs; --",
  '%_*?[a]',
  ' leading and trailing ',
  'e\u0301',
  '\u00e9',
  'x'.repeat(512),
];

export const limitsTests: SuitePart = {
  tests: {
    'S5 ids of any letters are kept apart': async ({ store, supports }) => {
      for (const id of oddIds) {
        const claim = await startRun(store, id, { graphId: id, waits: [wait(id)] });
        await store.postMessage(message(id, { kind: 'answer', name: id, body: bytesOf(id) }));
        await store.postMessage(message(id, { name: id, body: bytesOf(id) }));
        if (supports.tags) await store.tagCheckpoint(keyOf(id), { name: id, seq: 0 });
        await store.commit(commitOf(claim, 1, { graphHash: id }));
      }
      for (const id of oddIds) {
        const run = await store.readRun(keyOf(id));
        assert.deepEqual([run?.runId, run?.graphId, run?.graphHash, run?.head], [id, id, id, 1]);
        assert.equal(run?.claim?.workerId, 'one');
        assert.deepEqual(await openWaitIds(store, id), [id]);
        assert.deepEqual(
          (await store.readMessages(keyOf(id))).map(({ name }) => name),
          [id, id],
        );
        if (supports.tags) assert.deepEqual(await store.readTags(keyOf(id)), [{ name: id, seq: 0 }]);
        assert.ok((await store.findRuns(tenant, id, 100)).some(({ runId }) => runId === id));
      }
      assert.equal((await store.listRuns({ tenant })).rows.length, oddIds.length);
    },

    'E8 a run may have many open waits and messages': async ({ store }) => {
      const names = Array.from({ length: 300 }, (_, index) => `wait ${String(index).padStart(3, '0')}`);
      const claim = await startRun(store, 'run', { waits: names.map((name) => wait(name)) });
      assert.equal((await store.listWaits({ tenant, limit: 1000 })).rows.length, 300);
      const replies = await Promise.all(
        names.map((name) => store.postMessage(message('run', { kind: 'answer', name, body: bytesOf(name) }))),
      );
      assert.ok(replies.every(({ status }) => status === 'accepted'));
      const posted = await store.readMessages(keyOf('run'));
      assert.equal(posted.length, 300);
      await store.commit(commitOf(claim, 1, { closeWaits: names, takeMessages: posted.map(({ id }) => id) }));
      assert.deepEqual(await openWaitIds(store, 'run'), []);
      assert.deepEqual(await store.readMessages(keyOf('run')), []);
    },

    'E8 many large commits under way at once all land': async ({ store }) => {
      const claim = await startRun(store, 'run');
      const body = new Uint8Array(300_000).fill(9);
      const seqs = Array.from({ length: 12 }, (_, index) => index + 1);
      await Promise.all(
        seqs.map((seq) =>
          store.commit({ ...commitOf(claim, seq), checkpoint: { ...commitOf(claim, seq).checkpoint, body } }),
        ),
      );
      assert.equal((await readSeqs(store, 'run')).length, 13);
    },

    'S1 a large meta and a body of nothing are kept': async ({ store }) => {
      const meta = new Uint8Array(100_000).fill(1);
      const empty = new Uint8Array(0);
      await store.admitRun(admission('run', { meta, waits: [wait('w', { body: empty })] }));
      assert.deepEqual((await store.readRun(keyOf('run')))?.meta, meta);
      // Lists tell the titles of runs by it.
      const { rows } = await store.listRuns({ tenant, limit: 10 });
      assert.deepEqual(rows[0]?.meta, meta);
      assert.deepEqual((await store.listWaits({ tenant })).rows[0]?.body, empty);
      assert.deepEqual(await store.postMessage(message('run', { body: empty })), { status: 'accepted' });
      assert.deepEqual(await store.postMessage(message('run', { body: empty })), { status: 'equal' });
    },
  },
};
