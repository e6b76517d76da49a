/** Random YAML workflows, killed at every point of their runs and resumed (P1, P2). */
import { expect, test } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { planYaml, yamlPlanCase } from '../support/yaml-plan.ts';

/** Repeat one workflow with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
const graphs = Number(process.env['CAIRN_GRAPHS'] ?? 60);

test(
  'P1 P2 a workflow killed at any point has the history of one that never was, and no effect twice',
  { timeout: 200_000 },
  async () => {
    const found: string[] = [];
    let trials = 0;
    for (let seed = firstSeed; seed < firstSeed + graphs; seed += 1) {
      const report = await crashEverywhere(yamlPlanCase(planYaml(seed)), {
        open: (now) => ({ store: createMemoryStore({ now }), blobs: createMemoryBlobs(now) }),
      }).catch((error: unknown) => {
        throw new Error(`CAIRN_SEED=${seed} CAIRN_GRAPHS=1`, { cause: error });
      });
      trials += report.trials;
      for (const { points, faults } of report.faults) {
        const at = points.map(({ kind, number, when }) => `${when} ${kind} ${number}`).join(', then ');
        found.push(`CAIRN_SEED=${seed} CAIRN_GRAPHS=1: killed ${at}: ${faults.join('; ')}`);
      }
    }
    console.log(`crashed ${graphs} workflows from seed ${firstSeed} at ${trials} points`);
    expect(found.slice(0, 5)).toEqual([]);
  },
);
