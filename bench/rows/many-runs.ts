/** What many short runs side by side cost the engine beyond one long one, without a disk. */
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { chainGraph } from '../graphs.ts';
import type { Group } from '../group.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { timeRuns } from '../time-run.ts';

const count = 10_000;
const runs = 100;
const nodes = 10;
const name = '100 runs x 10 nodes, memory store: user CPU a node';

/** Microseconds that this process computes for each node, the collector's threads included. */
async function cpuOfNode(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  return process.cpuUsage(before).user / count;
}

export const manyRuns: Group = {
  rows: [{ name, against: 'engine alone: one run of 10,000', target: 1.25 }],
  warmUps: 4,
  prepare: () => {
    const long = chainGraph(makeList(count, outputOfKib), 'pure');
    const short = chainGraph(makeList(nodes, outputOfKib), 'pure');
    const runShort = async (): Promise<void> => {
      for (let done = 0; done < count; done += runs * nodes) await timeRuns(short, createMemoryStore(), runs);
    };
    return {
      repeat: async () => {
        const floor = await cpuOfNode(() => timeRuns(long, createMemoryStore()));
        return { [name]: { ours: await cpuOfNode(runShort), floor, unit: 'us' } };
      },
    };
  },
};
