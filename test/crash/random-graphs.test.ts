/** Random graphs, killed at every point of their runs and resumed (P1, P2). */
import { describe, expect, it } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import type { CrashKitOptions, CrashPoint } from '../../src/testing/crash-kit/process-life.ts';
import { randomGraphCase } from '../random-graph/random-graph.ts';
import { planRandomGraph, type RandomGraphPlan } from '../random-graph/plan-random-graph.ts';
import { planProperty } from '../random-graph/smaller-plan.ts';
import { seeds } from '../support/scale.ts';
import { tellFaults } from '../support/smallest.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';

/** Repeat one graph with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const tried = seeds(6, 400);

const open: CrashKitOptions['open'] = (now) => ({ store: createMemoryStore({ now }), blobs: createMemoryBlobs(now) });

async function crashSeeds(
  tried: readonly number[],
  nodesMost: number,
  choose?: (seed: number) => NonNullable<CrashKitOptions['choose']>,
): Promise<{ points: number; found: readonly string[] }> {
  let points = 0;
  const faultsOf = async (plan: RandomGraphPlan, seed: number): Promise<readonly string[]> => {
    const options = choose === undefined ? { open } : { open, choose: choose(seed) };
    const report = await crashEverywhere(randomGraphCase(plan), options);
    points += report.trials;
    return report.faults.map(({ points: at, faults }) => `killed ${describePoints(at)}: ${faults.join('; ')}`);
  };
  const make = (seed: number): RandomGraphPlan => planRandomGraph(seed, { nodesMost });
  return { found: await tellFaults(tried, { ...planProperty, make, faultsOf }), points };
}

function describePoints(points: readonly CrashPoint[]): string {
  return points.map(({ kind, number, when }) => `${when} ${kind} ${number}`).join(', then ');
}

/** Crashes, and crashes again while recovering: a few pairs of points of each graph. */
function choosePairs(seed: number): NonNullable<CrashKitOptions['choose']> {
  const random = createSeededRandom(seed);
  return (points) =>
    Array.from({ length: Math.min(2, points.length) }, () => [
      random.pick(points),
      random.pick(points),
      random.pick(points),
    ]);
}

describe('random graphs', () => {
  it(
    'P1 P2 a run killed at any point has the history of one that never was, and no effect twice',
    { timeout: 400_000 },
    async () => {
      const { points, found } = await crashSeeds(tried, 4);
      console.log(`crashed ${tried.length} graphs from seed ${tried[0]} at ${points} points`);
      expect(found).toEqual([]);
    },
  );

  it('P1 P2 the same for runs killed three times', { timeout: 400_000 }, async () => {
    const { found } = await crashSeeds(tried, 7, choosePairs);
    expect(found).toEqual([]);
  });
});
