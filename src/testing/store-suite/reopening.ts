/** Tests of reopening: what was acknowledged is there when the store is opened again, and a closed store says so. */

import assert from 'node:assert/strict';
import {
  admission,
  assertHeld,
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
} from './examples.ts';
import type { SuitePart } from './suite.ts';

export const reopeningTests: SuitePart = {
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
      assertHeld(seen.claim, 'one', leaseMs);
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
