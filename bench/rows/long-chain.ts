/** A long history makes no node slower, and items of a map cost what nodes of a chain do. */
import { createStore } from '../database.ts';
import { chainGraph, mapGraph } from '../graphs.ts';
import type { Group } from '../group.ts';
import { median } from '../median.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { timeRuns } from '../time-run.ts';

const count = 10_000;
const part = 1_000;
/** Records that the store flushes together: a block holds one flush. */
const block = 128;
const nameOfLast = 'nodes 9,001-10,000 of a 10,000 chain, per node';
const nameOfMap = '10,000-item map, per item';

export const longChain: Group = {
  rows: [
    { name: nameOfLast, against: 'nodes 1-1,000 of it (medians of blocks)', target: 1.1 },
    { name: nameOfMap, against: "the chain's per node", target: 1.15 },
  ],
  warmUps: 2,
  prepare: (folder) => {
    const outputs = makeList(count, outputOfKib);
    const startedMs = new Float64Array(count);
    const chainOf = chainGraph(outputs, 'pure', (index) => (startedMs[index] = performance.now()));
    const mapOf = mapGraph(outputs, 'pure');
    return {
      repeat: async () => {
        const chainStore = createStore(folder, 'normal');
        const chain = await timeRuns(chainOf, chainStore);
        await chainStore.close();
        const mapStore = createStore(folder, 'normal');
        const map = await timeRuns(mapOf, mapStore);
        await mapStore.close();
        return {
          [nameOfLast]: {
            ours: perNode(startedMs.subarray(count - part)),
            floor: perNode(startedMs.subarray(0, part)),
            unit: 'us',
          },
          [nameOfMap]: { ours: (map / count) * 1000, floor: (chain / count) * 1000, unit: 'us' },
        };
      },
    };
  },
};

/** Microseconds a node in the median block, over all blocks there are in a part. */
function perNode(startedMs: Float64Array): number {
  const blocks: number[] = [];
  for (let first = 0; first + block < startedMs.length; first += 1) {
    blocks.push(startedMs[first + block]! - startedMs[first]!);
  }
  return (median(blocks) / block) * 1000;
}
