/** Tests of what makes a run ready, by whatever clock it was written, and of how many are. */
import assert from 'node:assert/strict';
import type { Claim, CommitReply, Store } from '../../ports/store.ts';
import {
  admission,
  checkpoint,
  commitOf,
  keyOf,
  leaseMs,
  message,
  startRun,
  tenant,
  type SuitePart,
} from './examples.ts';

const hourMs = 3_600_000;

/** Ids of the runs that are due by the store's own clock. They are claimed. */
async function claimReady(store: Store): Promise<readonly string[]> {
  const granted = await store.claimNext({ tenant, workerId: 'two', leaseMs, limit: 10 });
  return granted.map(({ run }) => run.runId);
}

export const readyRunsTests: SuitePart = {
  tests: {
    'O1 a commit that takes one of two messages leaves the run to be claimed for the other': async ({ store }) => {
      const claim = await startRun(store, 'run', { status: 'paused' });
      for (const name of ['first', 'second']) await store.postMessage(message('run', { name, at: 1 }));
      const [first] = await store.readMessages(keyOf('run'));
      await store.commit(commitOf(claim, 1, { takeMessages: [first?.id ?? -1], status: 'paused', releases: true }));
      assert.deepEqual(await claimReady(store), ['run']);
    },

    'O1 a message of a clock that is ahead of the store is not passed over': async ({ store }) => {
      if (store.readTime === undefined) return;
      await store.releaseClaim(await startRun(store, 'run', { status: 'paused' }));
      await store.postMessage(message('run', { at: (await store.readTime()) + hourMs }));
      assert.deepEqual(await claimReady(store), ['run']);
    },

    'O1 a run that a clock ahead of the store admits is due at once, unless it is to begin later': async ({
      store,
    }) => {
      if (store.readTime === undefined) return;
      const at = (await store.readTime()) + hourMs;
      await store.admitRun(admission('run', { checkpoint: { ...checkpoint(0), at } }));
      await store.admitRun(admission('later', { checkpoint: { ...checkpoint(0), at }, schedule: { dueAt: at } }));
      assert.deepEqual(await claimReady(store), ['run']);
    },

    'O2 the backlog counts the runs that could be claimed now, those of lapsed leases too, with the age of the oldest':
      async ({ store, advance }) => {
        if (store.readBacklog === undefined || store.readTime === undefined) return;
        const now = await store.readTime();
        const runs = {
          old: { schedule: { dueAt: now - 60_000, queue: 'slow' } },
          young: { graphId: 'other', schedule: { dueAt: now - 1 } },
          later: { schedule: { dueAt: now + hourMs } },
          asleep: { status: 'paused', schedule: { dueAt: 0 } },
          done: { status: 'completed', schedule: { dueAt: 0 } },
          foreign: { tenant: 'another', schedule: { dueAt: 0 } },
        } as const;
        for (const [runId, fields] of Object.entries(runs)) await store.admitRun(admission(runId, fields));
        await startRun(store, 'held', { schedule: { dueAt: now - 2 * hourMs } });
        const { ready, oldestMs = 0 } = await store.readBacklog({ tenant });
        assert.equal(ready, 2);
        assert.ok(oldestMs >= 60_000 && oldestMs < hourMs, `the oldest waits for ${oldestMs} ms`);
        assert.equal((await store.readBacklog({ tenant, graphs: ['other'] })).ready, 1);
        assert.equal((await store.readBacklog({ tenant, queues: ['slow'] })).ready, 1);
        assert.deepEqual(await store.readBacklog({ tenant, graphs: ['none'] }), { ready: 0 });
        await store.postMessage(message('asleep', { at: now }));
        assert.equal((await store.readBacklog({ tenant })).ready, 3);
        await advance(leaseMs + 1);
        const lapsed = await store.readBacklog({ tenant });
        assert.equal(lapsed.ready, 4);
        assert.ok((lapsed.oldestMs ?? 0) >= 2 * hourMs, `the oldest waits for ${lapsed.oldestMs} ms`);
      },

    'O1 commits of a run that are handed in at once keep their order, however many and large they are': async ({
      store,
    }) => {
      const [many, large] = [await startRun(store, 'many'), await startRun(store, 'large')];
      const body = new Uint8Array(600 * 1024);
      const commit = (claim: Claim, seq: number, isLarge: boolean): Promise<CommitReply> =>
        store.commit(commitOf(claim, seq, { checkpoint: { ...checkpoint(seq), ...(isLarge && { body }) } }));
      // What is put off because it is large comes before what is small and behind it.
      const commits = [commit(many, 1, true), commit(large, 1, true), commit(large, 2, false), commit(large, 3, true)];
      for (let seq = 2; seq <= 450; seq += 1) commits.push(commit(many, seq, false));
      commits.push(commit(large, 4, false));
      for (const reply of await Promise.all(commits)) assert.deepEqual(reply, { isHeld: true });
    },
  },
};
