/** A list that grows: what it takes on disk, that its length slows no step down, and how long the run stands still at most. */
import { createStore, databaseBytes, FloorDatabase, readStoredRows, type StoredRow } from '../database.ts';
import { listGraph } from '../graphs.ts';
import type { Group } from '../group.ts';
import { makeList, messageOf2Kib } from '../payload.ts';
import { timeRuns } from '../time-run.ts';

const count = 2_000;
const tenth = count / 10;
const nameOfBytes = 'bytes stored, 2,000 steps appending 2 KiB to a list';
const nameOfTenth = 'per step over the last tenth of that run';
const nameOfStall = 'longest stall in that run';

export const growingList: Group = {
  rows: [
    { name: nameOfBytes, against: 'distinct bytes produced', target: 1.25 },
    { name: nameOfTenth, against: 'its first tenth (automatic log checkpoints off)', target: 1.15 },
    { name: nameOfStall, against: "the floor's longest stall", target: 1.5 },
  ],
  warmUps: 3,
  prepare: (folder) => {
    const messages = makeList(count, messageOf2Kib);
    const distinctBytes = messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);
    const startedMs = new Float64Array(count);
    const graph = listGraph(messages, (index) => (startedMs[index] = performance.now()));
    const run = async (walAutoCheckpointPages: number): Promise<void> => {
      const store = createStore(folder, 'normal', { walAutoCheckpointPages });
      await timeRuns(graph, store);
      await store.close();
    };
    const perStep = (from: number): number => ((startedMs[from + tenth - 1]! - startedMs[from]!) / (tenth - 1)) * 1000;
    return {
      repeat: async () => {
        await run(0);
        const tenths = { ours: perStep(count - tenth), floor: perStep(0), unit: 'us' } as const;
        await createStore(folder, 'normal').close();
        const emptyBytes = databaseBytes(folder);
        await run(256);
        const stall = longestGap(startedMs);
        const floor = stallOfFloor(folder, readStoredRows(folder));
        return {
          [nameOfBytes]: { ours: databaseBytes(folder) - emptyBytes, floor: distinctBytes, unit: 'bytes' },
          [nameOfTenth]: tenths,
          [nameOfStall]: { ours: stall, floor, unit: 'ms' },
        };
      },
    };
  },
};

function longestGap(times: Float64Array): number {
  let longest = 0;
  for (let index = 1; index < times.length; index += 1) {
    longest = Math.max(longest, times[index]! - times[index - 1]!);
  }
  return longest;
}

function stallOfFloor(folder: string, rows: readonly StoredRow[]): number {
  const floor = new FloorDatabase(folder, { synchronous: 'normal' });
  const times = new Float64Array(rows.length);
  for (const [index, row] of rows.entries()) {
    times[index] = performance.now();
    floor.insert(row);
  }
  floor.close();
  return longestGap(times);
}
