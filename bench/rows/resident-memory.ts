/** A process that stays does not grow with the runs that are over. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Group } from '../group.ts';
import { spawnNode } from '../spawn-node.ts';

const name = 'resident memory after 5,000 runs in one process';
const script = join(import.meta.dirname, '../processes/many-runs.mjs');
const bytesOfMb = 1024 * 1024;

export const residentMemory: Group = {
  rows: [{ name, against: 'after 500', target: 1.2 }],
  needsBuild: true,
  warmUps: 0,
  prepare: (folder) => ({
    repeat: () => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(join(folder, `many.db${suffix}`), { force: true });
      const { early, late } = JSON.parse(spawnNode([script, folder]).stdout) as { early: number; late: number };
      return { [name]: { ours: late / bytesOfMb, floor: early / bytesOfMb, unit: 'MB' } };
    },
  }),
};
