/** Tests of reading checkpoints and snapshots by seq. */

import assert from 'node:assert/strict';
import { admission, checkpoint, commitMany, expectCode, keyOf, snapshot, startRun } from './examples.ts';
import type { SuitePart } from './suite.ts';

export const historyReadsTests: SuitePart = {
  tests: {
    'S1 checkpoints are read by range, ascending, up to a limit': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await commitMany(store, claim, 1, 20);
      const read = async (from: number, to: number, limit?: number): Promise<number[]> => {
        const rows = await store.readCheckpoints(keyOf('run'), { from, to, ...(limit === undefined ? {} : { limit }) });
        return rows.map(({ seq }) => seq);
      };
      assert.deepEqual(await read(3, 6), [3, 4, 5, 6]);
      assert.deepEqual(await read(18, 99), [18, 19, 20]);
      assert.deepEqual(await read(5, 5), [5]);
      assert.deepEqual(await read(6, 5), []);
      assert.deepEqual(await read(3, 20, 2), [3, 4]);
      assert.deepEqual(await read(21, 99), []);
      assert.equal((await read(0, Number.MAX_SAFE_INTEGER)).length, 21);
    },

    'S1 a read shows one run only, not its ancestors and not its neighbours': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await startRun(store, 'runt');
      await commitMany(store, claim, 1, 5);
      await store.admitRun(admission('fork', { parent: { runId: 'run', seq: 3 } }));
      assert.deepEqual(await store.readCheckpoints(keyOf('fork'), { from: 0, to: 99 }), [checkpoint(4)]);
      assert.deepEqual(await store.readCheckpoints(keyOf('runt'), { from: 0, to: 99 }), [checkpoint(0)]);
      assert.equal(await store.readSnapshot(keyOf('fork'), 99), undefined);
    },

    'S1 what is not there reads as nothing': async ({ store }) => {
      assert.equal(await store.readRun(keyOf('none')), undefined);
      assert.deepEqual(await store.readCheckpoints(keyOf('none'), { from: 0, to: 9 }), []);
      assert.equal(await store.readSnapshot(keyOf('none'), 9), undefined);
      assert.deepEqual(await store.readMessages(keyOf('none')), []);
      assert.deepEqual(await store.readTags(keyOf('none')), []);
      assert.deepEqual(await store.findRuns('acme', '', 10), []);
    },

    'C4 the newest snapshot at or before a seq is found': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await commitMany(store, claim, 1, 30);
      for (const seq of [20, 10, 25]) await store.writeSnapshot(keyOf('run'), snapshot(seq));
      const found = async (at: number): Promise<number | undefined> =>
        (await store.readSnapshot(keyOf('run'), at))?.seq;
      assert.deepEqual(await Promise.all([9, 10, 19, 20, 24, 25, 30, 99].map(found)), [
        undefined,
        10,
        10,
        20,
        20,
        25,
        25,
        25,
      ]);
      assert.deepEqual(await store.readSnapshot(keyOf('run'), 22), snapshot(20));
    },

    'C4 a snapshot of a checkpoint that is not there is refused': async ({ store }) => {
      await startRun(store, 'run');
      await expectCode(store.writeSnapshot(keyOf('run'), snapshot(1)), 'CHECKPOINT_NOT_FOUND');
      await expectCode(store.writeSnapshot(keyOf('none'), snapshot(0)), 'CHECKPOINT_NOT_FOUND');
      assert.equal(await store.readSnapshot(keyOf('run'), 9), undefined);
    },

    'S4 runs are found by the beginning of their id or key, in order of id': async ({ store }) => {
      const given = [
        admission('aa-2', { key: '1111111111111111' }),
        admission('aa-1', { key: '2222222222222222' }),
        admission('bb-1', { key: '1122222222222222' }),
        admission('b_%', { key: '3333333333333333' }),
      ];
      for (const one of given) await store.admitRun(one);
      const find = async (prefix: string, limit = 10): Promise<string[]> =>
        (await store.findRuns('acme', prefix, limit)).map(({ runId }) => runId);
      assert.deepEqual(await find('aa'), ['aa-1', 'aa-2']);
      assert.deepEqual(await find('aa-1'), ['aa-1']);
      assert.deepEqual(await find('11'), ['aa-2', 'bb-1']);
      assert.deepEqual(await find('2222222222222222'), ['aa-1']);
      assert.deepEqual(await find(''), ['aa-1', 'aa-2', 'b_%', 'bb-1']);
      assert.deepEqual(await find('', 2), ['aa-1', 'aa-2']);
      assert.deepEqual(await find('b_'), ['b_%'], 'no pattern letters');
      assert.deepEqual(await find('zz'), []);
    },
  },
};
