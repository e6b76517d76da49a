/** Random YAML workflows, killed at every point of their runs and resumed (P1, P2). */
import { expect, test } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { seeds } from '../support/scale.ts';
import { yamlProperty } from '../support/smaller-yaml.ts';
import { tellFaults } from '../support/smallest.ts';
import { planYaml, yamlPlanCase, type YamlPlan } from '../support/yaml-plan.ts';

/** Repeat one workflow with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const tried = seeds(2, 150);

test(
  'P1 P2 a workflow killed at any point has the history of one that never was, and no effect twice',
  { timeout: 200_000 },
  async () => {
    let trials = 0;
    const faultsOf = async (plan: YamlPlan): Promise<readonly string[]> => {
      const report = await crashEverywhere(yamlPlanCase(plan), {
        open: (now) => ({ store: createMemoryStore({ now }), blobs: createMemoryBlobs(now) }),
      });
      trials += report.trials;
      return report.faults.map(({ points, faults }) => {
        const at = points.map(({ kind, number, when }) => `${when} ${kind} ${number}`).join(', then ');
        return `killed ${at}: ${faults.join('; ')}`;
      });
    };
    const found = await tellFaults(tried, { ...yamlProperty, make: (seed) => planYaml(seed), faultsOf });
    console.log(`crashed ${tried.length} workflows from seed ${tried[0]} at ${trials} points`);
    expect(found).toEqual([]);
  },
);
