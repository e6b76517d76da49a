/** What a node with an effect costs beside a commit that survives a power cut. */
import { createStore, readStoredRows, timeFloor } from '../database.ts';
import { chainGraph } from '../graphs.ts';
import type { Group } from '../group.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { timeRuns } from '../time-run.ts';

const count = 1_000;
const name = '1,000 write nodes one after another, FULL, per node';
const nameOfDifference = 'the same, ours less the floor';

export const writeNodes: Group = {
  rows: [
    { name, against: 'floor, FULL, one commit a record', target: 1.4 },
    { name: nameOfDifference, against: 'that floor' },
  ],
  warmUps: 4,
  prepare: (folder) => {
    const graph = chainGraph(makeList(count, outputOfKib), 'write');
    return {
      repeat: async () => {
        const store = createStore(folder, 'full');
        const tookMs = await timeRuns(graph, store);
        await store.close();
        const floorMs = timeFloor(folder, readStoredRows(folder).slice(-count), { synchronous: 'full' });
        const ours = (tookMs / count) * 1000;
        const floor = (floorMs / count) * 1000;
        return {
          [name]: { ours, floor, unit: 'us' },
          [nameOfDifference]: { ours: ours - floor, floor, unit: 'us' },
        };
      },
    };
  },
};
