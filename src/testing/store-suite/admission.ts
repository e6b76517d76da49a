/** Tests of admission: a run is created once, completely, and only if its parent checkpoint exists. */

import assert from 'node:assert/strict';
import {
  admission,
  assertClaimed,
  bytesOf,
  checkpoint,
  commitOf,
  expectCode,
  keyOf,
  leaseMs,
  openWaitIds,
  readSeqs,
  requireRun,
  startRun,
  tenant,
  wait,
  type SuitePart,
} from './examples.ts';

export const admissionTests: SuitePart = {
  tests: {
    'E2 an admitted run is there, as it was handed in': async ({ store }) => {
      const admitted = admission('run', { status: 'paused', durability: 'power' });
      const reply = await store.admitRun(admitted);
      assert.equal(reply.created, true);
      assert.equal(reply.claim, undefined);
      const expected = {
        tenant,
        runId: 'run',
        key: admitted.key,
        graphId: 'graph',
        graphHash: 'hash',
        status: 'paused',
        head: 0,
        createdAt: 1000,
        updatedAt: 1000,
        meta: bytesOf('meta of run'),
        claims: 0,
        deaths: 0,
        deathsSinceRest: 0,
        hasMessages: false,
        prunedBelow: 0,
        schedule: { queue: '', priority: 0, dueAt: 1000 },
      };
      for (const run of [reply.run, await requireRun(store, 'run')]) {
        const { hasForks = false, hasTags = false, ...row } = run;
        assert.deepEqual(row, expected);
        assert.deepEqual([hasForks, hasTags], [false, false]);
      }
      assert.deepEqual(await store.readCheckpoints(keyOf('run'), { from: 0, to: 9 }), [checkpoint(0)]);
    },

    'E2 admitting an id that exists writes nothing and shows the run that is there': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await store.commit(commitOf(claim, 1));
      const reply = await store.admitRun(
        admission('run', {
          graphId: 'other',
          checkpoint: checkpoint(0, 'other'),
          waits: [wait('w')],
          claim: { workerId: 'two', leaseMs },
        }),
      );
      assert.equal(reply.created, false);
      assert.equal(reply.claim, undefined);
      assert.equal(reply.run.graphId, 'graph');
      assert.equal(reply.run.head, 1);
      assert.deepEqual(await store.readCheckpoints(keyOf('run'), { from: 0, to: 9 }), [checkpoint(0), checkpoint(1)]);
      assert.deepEqual(await openWaitIds(store, 'run'), []);
      assert.equal((await requireRun(store, 'run')).claim?.workerId, 'one');
    },

    'E2 of admissions of one id under way at once, one creates the run': async ({ store, reopen }) => {
      const other = (await reopen()) ?? store;
      const admissions = Array.from({ length: 10 }, (_, index) =>
        admission('run', { checkpoint: checkpoint(0, `by ${index}`) }),
      );
      const replies = await Promise.all(
        admissions.map((one, index) => (index % 2 === 0 ? store : other).admitRun(one)),
      );
      assert.equal(replies.filter(({ created }) => created).length, 1);
      const winner = replies.findIndex(({ created }) => created);
      assert.deepEqual(await store.readCheckpoints(keyOf('run'), { from: 0, to: 9 }), [checkpoint(0, `by ${winner}`)]);
    },

    'O1 an admission may claim its run in the same write': async ({ store }) => {
      const reply = await store.admitRun(admission('run', { claim: { workerId: 'one', leaseMs } }));
      assert.equal(reply.claim?.workerId, 'one');
      assert.equal(reply.claim.leaseMs, leaseMs);
      assertClaimed(reply.run.claim, 'one', leaseMs);
      await store.commit(commitOf(reply.claim, 1));
      assert.deepEqual(await readSeqs(store, 'run'), [0, 1]);
    },

    'W2 the waits of an admission are open': async ({ store }) => {
      await store.admitRun(admission('run', { waits: [wait('a'), wait('b')] }));
      assert.deepEqual(await openWaitIds(store, 'run'), ['a', 'b']);
    },

    'H2 a fork begins behind its parent checkpoint and keeps a pointer to it': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await store.commit(commitOf(claim, 1));
      const { run } = await store.admitRun(admission('fork', { parent: { runId: 'run', seq: 1 } }));
      assert.deepEqual(run.parent, { runId: 'run', seq: 1 });
      assert.equal(run.head, 2);
      assert.deepEqual(await readSeqs(store, 'fork'), [2]);
      const { rows } = await store.listRuns({ tenant, parentRunId: 'run' });
      assert.deepEqual(
        rows.map(({ runId }) => runId),
        ['fork'],
      );
    },

    'N12 a row that tells of forks tells of those that there are': async ({ store, supports }) => {
      const readForks = async (): Promise<readonly (boolean | undefined)[]> => {
        const { rows } = await store.listRuns({ tenant, status: ['paused'] });
        return [await requireRun(store, 'run'), ...rows].map(({ hasForks }) => hasForks);
      };
      await store.admitRun(admission('run', { status: 'paused' }));
      for (const runId of ['one', 'two'])
        await store.admitRun(admission(runId, { parent: { runId: 'run', seq: 0 }, status: 'completed' }));
      assert.ok((await readForks()).every((hasForks) => hasForks !== false));
      if (!supports.removal) return;
      await store.removeRun(keyOf('one'));
      assert.ok((await readForks()).every((hasForks) => hasForks !== false));
      await store.removeRun(keyOf('two'));
      assert.ok((await readForks()).every((hasForks) => hasForks !== true));
    },

    'C8 a fork of a checkpoint that is not there is refused, and nothing is written': async ({ store }) => {
      await startRun(store, 'run');
      await expectCode(store.admitRun(admission('fork', { parent: { runId: 'run', seq: 1 } })), 'CHECKPOINT_NOT_FOUND');
      await expectCode(
        store.admitRun(admission('fork', { parent: { runId: 'none', seq: 0 } })),
        'CHECKPOINT_NOT_FOUND',
      );
      assert.equal(await store.readRun(keyOf('fork')), undefined);
      // A fork of a fork must name the run that holds the checkpoint, not one that inherits it.
      await store.admitRun(admission('fork', { parent: { runId: 'run', seq: 0 } }));
      await expectCode(
        store.admitRun(admission('twig', { parent: { runId: 'fork', seq: 0 } })),
        'CHECKPOINT_NOT_FOUND',
      );
    },
  },
};
