/** Random agents, killed at every point: each ends with the conversation of one that never was, and nothing is bought or done twice (P1, P2). */
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { seeds } from '../support/scale.ts';
import { tellFaults } from '../support/smallest.ts';
import { agentCase, describeAgent, planAgent, smallerAgents } from './agent-plan.ts';

/** Repeat one agent with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const tried = seeds(3, 60);

test(`A1 P1 P2 ${tried.length} random agents, killed at every point`, { timeout: 600_000 }, async () => {
  let points = 0;
  const faults = await tellFaults(tried, {
    make: (seed) => planAgent(createSeededRandom(seed * 7_919)),
    describe: describeAgent,
    smaller: smallerAgents,
    faultsOf: async (plan) => {
      const report = await crashEverywhere(agentCase(plan), { open: (now) => ({ store: createMemoryStore({ now }) }) });
      points += report.trials;
      return report.faults.map((fault) => JSON.stringify(fault));
    },
  });
  expect(faults.join('\n')).toBe('');
  expect(points).toBeGreaterThan(tried.length * 5);
});

test('the random agents speak in every mode, with every history, and call every tool', () => {
  const plans = Array.from({ length: 30 }, (_, index) => planAgent(createSeededRandom((index + 1) * 7_919)));
  const drawn = [
    plans.map(({ mode }) => mode),
    plans.map(({ history }) => history),
    plans.flatMap(({ turns }) => turns.flat().map(({ tool }) => tool)),
  ];
  expect(drawn.map((each) => new Set(each).size)).toEqual([4, 4, 16]);
});
