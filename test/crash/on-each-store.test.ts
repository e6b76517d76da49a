/** Runs killed at every point over each store, which the next process opens again: a folder, Redis, and SQLite with blobs in S3 (P1, P2). */
import { afterAll, describe, expect, test } from 'vitest';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import type { CrashCase, CrashKitOptions } from '../../src/testing/crash-kit/process-life.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { agentCase, planAgent } from '../agents/agent-plan.ts';
import { planRandomGraph } from '../random-graph/plan-random-graph.ts';
import { randomGraphCase } from '../random-graph/random-graph.ts';
import { storagePlaces } from '../support/crash-storage.ts';
import { sampleCrashes, scale, seeds } from '../support/scale.ts';
import { wholeCase, wholeLimits } from './cases/whole.ts';

const places = await storagePlaces();
afterAll(async () => {
  for (const place of places) await place.stop();
});

describe.each(places)('over $name', ({ name, missing, open }) => {
  const crash = async (crashCase: CrashCase, options: Partial<CrashKitOptions>): Promise<number> => {
    const report = await crashEverywhere(crashCase, { open, ...options });
    expect(report.faults).toEqual([]);
    return report.trials;
  };

  test.skipIf(missing !== undefined)(
    `P1 P2 a run with a person, an agent, a map, a child and blobs over ${name}, killed at every point, ends as if it never was`,
    { timeout: 600_000 },
    async () => {
      const trials = await crash(wholeCase, { choose: sampleCrashes(4), limits: wholeLimits });
      console.log(`the whole run over ${name}: killed at ${trials} points`);
      expect(trials).toBeGreaterThan(scale(3, 100));
    },
  );

  test.skipIf(missing !== undefined)(
    `P1 P2 random graphs and agents over ${name}, killed at every point, end as if they never were`,
    { timeout: 1_200_000 },
    async () => {
      let trials = 0;
      const limits = { inlineBytes: 64 };
      const tried = seeds(1, 25);
      for (const seed of tried) {
        const graph = randomGraphCase(planRandomGraph(seed, { nodesMost: 4 }));
        trials += await crash(graph, { choose: sampleCrashes(2), limits });
        const agent = agentCase(planAgent(createSeededRandom(seed * 7_919)));
        trials += await crash(agent, { choose: sampleCrashes(2), limits });
      }
      console.log(`${tried.length} random graphs and agents over ${name}: killed at ${trials} points`);
    },
  );
});
