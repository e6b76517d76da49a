/** The most memory that a run takes, beside a bare loop that writes and hashes the same bytes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readStoredRows } from '../database.ts';
import type { Group } from '../group.ts';
import { median } from '../median.ts';
import { makeList, messageOf2Kib } from '../payload.ts';
import { spawnNode } from '../spawn-node.ts';

const attempts = 3;
const steps = 200;
const name = 'peak memory of a run of 200 steps x 2 KiB';
const processes = join(import.meta.dirname, '../processes');

export const peakMemory: Group = {
  rows: [{ name, against: "the floor's loop, which hashes and inserts the same bytes", target: 1.15 }],
  needsBuild: true,
  prepare: (folder) => {
    writeFileSync(join(folder, 'messages.json'), JSON.stringify(makeList(steps, messageOf2Kib)));
    const peakOf = (script: string): number => Number(spawnNode([join(processes, script), folder]).stdout) / 1024;
    return {
      repeat: () => {
        const ours: number[] = [];
        const floor: number[] = [];
        for (let count = 0; count < attempts; count += 1) {
          ours.push(peakOf('append-messages.mjs'));
          const sizes = readStoredRows(folder).map(({ body }) => body.byteLength);
          writeFileSync(join(folder, 'sizes.json'), JSON.stringify(sizes.slice(1)));
          floor.push(peakOf('insert-rows.mjs'));
        }
        return { [name]: { ours: median(ours), floor: median(floor), unit: 'MB' } };
      },
    };
  },
};
