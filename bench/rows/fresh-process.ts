/** What code that is not compiled yet costs: the same work as the first thing of a process, and when it is warm. */
import { join } from 'node:path';
import type { Group, Sample } from '../group.ts';
import { spawnNode } from '../spawn-node.ts';

const nameOfChain = '1,000 write nodes in a fresh process, FULL';
const nameOfRuns = '100 runs x 10 write nodes in a fresh process, FULL';
const script = join(import.meta.dirname, '../processes/first-runs.mjs');

export const freshProcess: Group = {
  rows: [
    { name: nameOfChain, against: 'the same when it is warm', target: 1.2 },
    { name: nameOfRuns, against: 'the same when it is warm', target: 3 },
  ],
  needsBuild: true,
  warmUps: 0,
  prepare: (folder) => {
    const measure = (nodes: number, runs: number): Sample => {
      const { first, warm } = JSON.parse(spawnNode([script, folder, `${nodes}`, `${runs}`]).stdout) as {
        readonly first: number;
        readonly warm: number;
      };
      return { ours: first, floor: warm, unit: 'ms' };
    };
    return { repeat: () => ({ [nameOfChain]: measure(1_000, 1), [nameOfRuns]: measure(10, 100) }) };
  },
};
