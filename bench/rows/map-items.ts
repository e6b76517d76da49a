/** Items of a map with an effect: eight at once share commits, as bare writers share an fdatasync. */
import { createStore, readStoredRows } from '../database.ts';
import { mapGraph } from '../graphs.ts';
import type { Group } from '../group.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { timeSharedLog } from '../shared-log.ts';
import { timeRuns } from '../time-run.ts';

const count = 500;
const writers = 8;
const name = '500-item map, concurrency 8, write, FULL, per item';

export const mapItems: Group = {
  rows: [{ name, against: '8 writers sharing an append + fdatasync', target: 1.6 }],
  warmUps: 10,
  prepare: (folder) => {
    const graph = mapGraph(makeList(count, outputOfKib), 'write');
    return {
      repeat: async () => {
        const store = createStore(folder, 'full');
        const ours = await timeRuns(graph, store);
        await store.close();
        // A checkpoint holds several items, so each record of the floor is an equal share of what we wrote.
        const bytes = readStoredRows(folder).reduce((sum, { body }) => sum + body.byteLength, 0);
        const record = Buffer.alloc(Math.ceil(bytes / count), 'x');
        const floor = await timeSharedLog(
          folder,
          makeList(count, () => record),
          writers,
        );
        return { [name]: { ours: (ours / count) * 1000, floor: (floor / count) * 1000, unit: 'us' } };
      },
    };
  },
};
