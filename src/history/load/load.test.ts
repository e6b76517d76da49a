import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { anySteps, writeHistory } from '../../../test/history/model-history.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { AgentGraph, END, START } from '../../index.ts';
import { loadState, readHistory } from './load.ts';

test('C4 every checkpoint loads to its state, whatever snapshots and forks there are', async () => {
  await fc.assert(
    fc.asyncProperty(anySteps, async (steps) => {
      const runs = await writeHistory(steps);
      const { history } = runs[0]!;
      for (const each of runs) {
        const row = await each.row();
        for (let seq = 0; seq <= each.head; seq++) {
          const loaded = await loadState(history.store, history.blobs, row, seq);
          expect(loaded.root).toEqual(each.states.get(seq));
          expect(Buffer.compare(loaded.checksum, each.links.get(seq)!)).toBe(0);
        }
        const seqs: number[] = [];
        for await (const { checkpoint } of readHistory(history.store, row, { from: 0, to: row.head }))
          seqs.push(checkpoint.seq);
        expect(seqs).toEqual(Array.from({ length: row.head + 1 }, (_, seq) => seq));
      }
    }),
    { numRuns: 100 },
  );
}, 30_000);

test('C4 the state of a run that has not begun is read without looking for a snapshot', async () => {
  const store = createMemoryStore();
  const snapshotReads: number[] = [];
  const readSnapshot = store.readSnapshot.bind(store);
  store.readSnapshot = (key, atOrBefore) => {
    snapshotReads.push(atOrBefore);
    return readSnapshot(key, atOrBefore);
  };
  const graph = new AgentGraph({}, { id: 'queued', checkpointPolicy: 'every_node' })
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ store });
  await graph.start({}, { runId: 'r', detach: true });
  const first = (await store.readRun({ tenant: 'default', runId: 'r' }))!;
  snapshotReads.length = 0;
  expect((await loadState(store, store.blobs!, first)).root.status).toBe('running');
  expect(snapshotReads).toEqual([]);
  await graph.resume('r');
  const ended = (await store.readRun(first))!;
  snapshotReads.length = 0;
  expect((await loadState(store, store.blobs!, ended)).root.status).toBe('completed');
  expect(snapshotReads).toEqual([ended.head]);
  await graph.close();
});
