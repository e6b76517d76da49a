/** Taking up a paused run in a fresh process, from the start of Node to its exit. */
import { join } from 'node:path';
import type { Group } from '../group.ts';
import { median } from '../median.ts';
import { spawnNode } from '../spawn-node.ts';

const attempts = 5;
const name = 'resume after 500 steps in a cold process, wall time';
const processes = join(import.meta.dirname, '../processes');

export const resume: Group = {
  rows: [{ name, against: 'a bare Node process that opens SQLite and reads that state', target: 2.1 }],
  needsBuild: true,
  prepare: (folder) => ({
    repeat: () => {
      const ours: number[] = [];
      const floor: number[] = [];
      for (let count = 0; count < attempts; count += 1) {
        spawnNode([join(processes, 'pause.mjs'), folder]);
        ours.push(spawnNode([join(processes, 'resume.mjs'), folder]).tookMs);
        floor.push(spawnNode([join(processes, 'read-state.mjs'), folder]).tookMs);
      }
      return { [name]: { ours: median(ours), floor: median(floor), unit: 'ms' } };
    },
  }),
};
