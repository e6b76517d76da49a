/** What a pure node costs beside the insert that keeps it. */
import { createStore, readStoredRows, timeFloor } from '../database.ts';
import { chainGraph } from '../graphs.ts';
import type { Group } from '../group.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { timeRuns } from '../time-run.ts';

const count = 1_000;
const name = '1,000 pure nodes, NORMAL, per node';
const nameOfDefaults = `${name} (default pages)`;

export const pureNodes: Group = {
  rows: [
    { name, against: 'floor, one commit a record', target: 0.9 },
    { name: nameOfDefaults, against: "floor with SQLite's default page size and log", target: 1.1 },
  ],
  warmUps: 20,
  prepare: (folder) => {
    const graph = chainGraph(makeList(count, outputOfKib), 'pure');
    return {
      repeat: async () => {
        const store = createStore(folder, 'normal');
        const ours = (await timeRuns(graph, store)) / count;
        await store.close();
        const rows = readStoredRows(folder).slice(-count);
        const perNode = (hasDefaults: boolean): number =>
          (timeFloor(folder, rows, { synchronous: 'normal', hasDefaults }) * 1000) / count;
        const sample = { ours: ours * 1000, unit: 'us' } as const;
        return {
          [name]: { ...sample, floor: perNode(false) },
          [nameOfDefaults]: { ...sample, floor: perNode(true) },
        };
      },
    };
  },
};
