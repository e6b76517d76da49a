/** Many runs at once share what a commit costs; so do bare writers that share an fdatasync. */
import { createStore, readStoredRows } from '../database.ts';
import { chainGraph } from '../graphs.ts';
import type { Group } from '../group.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { timeSharedLog } from '../shared-log.ts';
import { timeRuns } from '../time-run.ts';

const runs = 100;
const nodes = 10;
const name = '100 concurrent runs x 10 write nodes, FULL, per node';

export const concurrentRuns: Group = {
  rows: [{ name, against: '100 writers sharing an append + fdatasync', target: 2.2 }],
  warmUps: 20,
  prepare: (folder) => {
    const graph = chainGraph(makeList(nodes, outputOfKib), 'write');
    return {
      repeat: async () => {
        const store = createStore(folder, 'full');
        const ours = await timeRuns(graph, store, runs);
        await store.close();
        // Of a run's records: one a node, of those that hold an output.
        const records = readStoredRows(folder)
          .filter(({ seq }) => seq >= 2 && seq < nodes + 2)
          .map(({ body }) => body);
        const floor = await timeSharedLog(folder, records, runs);
        const perNode = 1000 / (runs * nodes);
        return { [name]: { ours: ours * perNode, floor: (floor * 1000) / records.length, unit: 'us' } };
      },
    };
  },
};
