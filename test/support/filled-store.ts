/** A store in which every kind of write was made, and all that a store has, for comparing. */
import type { Store } from '../../src/ports/store.ts';
import {
  admission,
  checkpoint,
  commitOf,
  keyOf,
  leaseMs,
  message,
  snapshot,
  startRun,
  tenant,
  wait,
} from '../../src/testing/store-suite/examples.ts';

/** All that a store has; claims are not compared. */
export async function contentsOf(store: Store): Promise<unknown> {
  const { rows } = await store.listRuns({ tenant });
  const runs = [];
  for (const row of rows) {
    const key = keyOf(row.runId);
    runs.push({
      ...row,
      claim: undefined,
      claims: undefined,
      checkpoints: await store.readCheckpoints(key, { from: 0, to: Infinity }),
      snapshot: await store.readSnapshot(key, Infinity),
      messages: await store.readMessages(key),
      tags: await store.readTags(key),
    });
  }
  return { identity: await store.readIdentity(), runs, waits: await store.listWaits({ tenant }) };
}

/** Makes runs by every kind of write. @param onWrite - called after each */
export async function fillStore(store: Store, onWrite: () => Promise<void> = async () => {}): Promise<void> {
  const labels = { $text: 'a label', __proto__: 'own', user: 'ann' };
  const key = keyOf('first');
  const claim = await startRun(store, 'first', { labels, waits: [wait('a', { dueAt: 5 }), wait('b', { dueAt: 5 })] });
  await onWrite();
  const writes: readonly (() => Promise<unknown>)[] = [
    ...[1, 2, 3, 4].map((seq) => () => store.commit(commitOf(claim, seq))),
    () =>
      store.commit(
        commitOf(claim, 5, {
          checkpoint: checkpoint(5, '{"a":[1,2.5,"\\u00e9"]}'),
          openWaits: [wait('c')],
          closeWaits: ['a'],
        }),
      ),
    () => store.writeSnapshot(key, snapshot(3, 'sn\u0000ap \ud83d\ude00')),
    async () => {
      const { meta } = (await store.readRun(key)) ?? { meta: new Uint8Array() };
      await store.labelRun?.({
        ...key,
        labels: { 'la\u0000bel': 'x' },
        oldMeta: meta,
        meta: new Uint8Array([0xff, 0]),
      });
    },
    () => store.tagCheckpoint(key, { name: 'good', seq: 2 }),
    () => store.tagCheckpoint(key, { name: 'gone', seq: 2 }),
    () => store.removeTag(key, 'gone'),
    () => store.postMessage(message('first', { name: 'one', body: new Uint8Array([0xff, 0, 0xfe]) })),
    () => store.postMessage(message('first', { name: 'two' })),
    async () => {
      const [taken] = await store.readMessages(key);
      await store.commit(commitOf(claim, 6, { takeMessages: [taken?.id ?? 0], status: 'paused', releases: true }));
    },
    () =>
      store.admitRun(
        admission('Second RUN/\u00e9', {
          parent: { runId: 'first', seq: 4 },
          schedule: { queue: 'slow', key: 'customer', priority: 5, dueAt: 1_234 },
        }),
      ),
    () => startRun(store, 'removed'),
    async () => {
      const again = await store.claimRun({ ...keyOf('removed'), workerId: 'one', leaseMs, takeFrom: 'one' });
      if (again.claim !== undefined) await store.releaseClaim(again.claim);
    },
    () => store.removeRun(keyOf('removed')),
    () => startRun(store, 'x'.repeat(300)),
  ];
  for (const write of writes) {
    await write();
    await onWrite();
  }
}
