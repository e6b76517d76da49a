/** What a node with an effect costs beside a commit that survives a power cut. */
import { createStore, readStoredRows, timeFloor } from '../database.ts';
import { chainGraph } from '../graphs.ts';
import type { Group } from '../group.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { timeRuns } from '../time-run.ts';

const count = 1_000;
const name = '1,000 write nodes one after another, FULL, per node';

export const writeNodes: Group = {
  rows: [{ name, against: 'floor, FULL, one commit a record', target: 1.4 }],
  warmUps: 4,
  prepare: (folder) => {
    const graph = chainGraph(makeList(count, outputOfKib), 'write');
    return {
      repeat: async () => {
        const store = createStore(folder, 'full');
        const ours = await timeRuns(graph, store);
        await store.close();
        const floor = timeFloor(folder, readStoredRows(folder).slice(-count), { synchronous: 'full' });
        return { [name]: { ours: (ours / count) * 1000, floor: (floor / count) * 1000, unit: 'us' } };
      },
    };
  },
};
