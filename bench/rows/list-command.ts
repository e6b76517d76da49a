/** `cairn ls` as people run it: a process of the built package. */
import { join, resolve } from 'node:path';
import { createStore } from '../database.ts';
import { chainGraph } from '../graphs.ts';
import type { Group } from '../group.ts';
import { median } from '../median.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { spawnNode } from '../spawn-node.ts';
import { timeRuns } from '../time-run.ts';

const attempts = 10;
const name = 'cairn ls as a process';
const executable = resolve(import.meta.dirname, '../../dist/bin/cairn.cjs');

export const listCommand: Group = {
  rows: [{ name, against: 'node -e 0', target: 1.5 }],
  needsBuild: true,
  prepare: async (folder) => {
    const store = createStore(folder, 'normal');
    await timeRuns(chainGraph(makeList(10, outputOfKib), 'pure'), store, 20);
    await store.close();
    const url = `sqlite:${join(folder, 'ours.db')}`;
    return {
      repeat: () => {
        const ours: number[] = [];
        const floor: number[] = [];
        for (let count = 0; count < attempts; count += 1) {
          const listed = spawnNode([executable, 'ls', '--store', url]);
          if (!listed.stdout.includes('chain')) throw new Error(`cairn ls printed ${listed.stdout}`);
          ours.push(listed.tookMs);
          floor.push(spawnNode(['-e', '0']).tookMs);
        }
        return { [name]: { ours: median(ours), floor: median(floor), unit: 'ms' } };
      },
    };
  },
};
