/** Tests that nothing passed in or returned is shared with the store. */

import assert from 'node:assert/strict';
import {
  admission,
  bytesOf,
  checkpoint,
  commitOf,
  keyOf,
  leaseMs,
  message,
  snapshot,
  startRun,
  tenant,
  wait,
  type SuitePart,
} from './examples.ts';

/** Overwrites every byte array inside a value. */
function spoil(value: unknown): void {
  if (value instanceof Uint8Array) value.fill(0xee);
  else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) spoil(inner);
}

export const isolationTests: SuitePart = {
  tests: {
    'S2 what is changed after it was handed in changes nothing, not even before the reply': async ({ store }) => {
      const admitted = admission('run', { waits: [wait('w')], claim: { workerId: 'one', leaseMs } });
      const admitting = store.admitRun(admitted);
      spoil(admitted);
      const { claim } = await admitting;
      assert.ok(claim);
      const opened = [wait('x')];
      const commit = commitOf(claim, 1, { openWaits: opened });
      const committing = store.commit(commit);
      spoil(commit);
      opened.push(wait('y'));
      await committing;
      const shot = snapshot(1);
      const writing = store.writeSnapshot(keyOf('run'), shot);
      spoil(shot);
      await writing;
      const posted = message('run');
      const posting = store.postMessage(posted);
      spoil(posted);
      await posting;
      assert.deepEqual((await store.readRun(keyOf('run')))?.meta, bytesOf('meta of run'));
      assert.deepEqual(await store.readCheckpoints(keyOf('run'), { from: 0, to: 9 }), [checkpoint(0), checkpoint(1)]);
      assert.deepEqual(await store.readSnapshot(keyOf('run'), 1), snapshot(1));
      assert.deepEqual((await store.readMessages(keyOf('run')))[0]?.body, bytesOf('hello'));
      const { rows } = await store.listWaits({ tenant });
      assert.deepEqual(
        rows.map(({ waitId, body }) => [waitId, body]),
        [
          ['w', bytesOf('about w')],
          ['x', bytesOf('about x')],
        ],
      );
    },

    'S2 what is changed after it was handed out changes nothing': async ({ store }) => {
      const admitted = await store.admitRun(admission('run', { waits: [wait('w')] }));
      spoil(admitted.run);
      await store.postMessage(message('run'));
      await store.writeSnapshot(keyOf('run'), snapshot(0));
      const readAll = async (): Promise<unknown[]> => [
        await store.readRun(keyOf('run')),
        await store.findRuns(tenant, 'run', 1),
        await store.listRuns({ tenant }),
        await store.readCheckpoints(keyOf('run'), { from: 0, to: 9 }),
        await store.readSnapshot(keyOf('run'), 0),
        await store.readMessages(keyOf('run')),
        await store.listWaits({ tenant }),
        await store.postMessage(message('run', { body: bytesOf('other') })),
      ];
      const first = await readAll();
      const copy = structuredClone(first);
      spoil(first);
      assert.deepEqual(await readAll(), copy);
    },

    'S2 bytes that are a window on others are stored alone': async ({ store }) => {
      const claim = await startRun(store, 'run');
      const around = new Uint8Array(100).fill(1);
      const body = around.subarray(10, 20);
      await store.commit({ ...commitOf(claim, 1), checkpoint: { ...checkpoint(1), body } });
      const [row] = await store.readCheckpoints(keyOf('run'), { from: 1, to: 1 });
      assert.equal(row?.body.length, 10);
      assert.deepEqual(row.body, new Uint8Array(10).fill(1));
    },
  },
};
