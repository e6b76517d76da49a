/** What a preview says is what then happens: every visit, both ways, over random graphs and patches and three generations of forks (X5). */
import { expect, test } from 'vitest';
import type { ForkOptions } from '../../src/engine/api.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import { planRandomGraph, type RandomGraphOptions, type RandomGraphPlan } from '../random-graph/plan-random-graph.ts';
import { randomGraphCase } from '../random-graph/random-graph.ts';
import { planProperty } from '../random-graph/smaller-plan.ts';
import { scale } from '../support/scale.ts';
import { tellFaults } from '../support/smallest.ts';
import type { PreviewFault } from './find-preview-faults.ts';
import { findFaultsOfForks } from './fork-generations.ts';
import { openForkTrial, type ForkTrial } from './fork-trial.ts';
import { findFaultsOfResumes } from './resumes.ts';

/** Repeat one graph with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
const graphs = Number(process.env['CAIRN_GRAPHS'] ?? scale(100, 300));
const drawn = Array.from({ length: graphs }, (_, index) => firstSeed + index);

function drawPatch(random: SeededRandom): ForkOptions {
  const patches: readonly ForkOptions[] = [
    {},
    { set: [{ path: ['scratch', 'total'], value: random.integer(100) }] },
    { set: [{ path: ['scratch', 'seen'], value: ['patched'] }] },
    { set: [{ path: ['input', 'trail'], value: 'other' }] },
  ];
  return random.pick(patches);
}

type FindFaults = (trial: ForkTrial, random: SeededRandom) => Promise<readonly PreviewFault[]>;

/** What is false in the previews of random graphs; of the first graph also the smallest that fails. */
function findAll(find: FindFaults, seeds = drawn, options: RandomGraphOptions = {}): Promise<readonly string[]> {
  const faultsOf = async (plan: RandomGraphPlan, seed: number): Promise<readonly string[]> => {
    const trial = openForkTrial(randomGraphCase(plan), seed);
    const faults = await trial.clock.run(find(trial, createSeededRandom(seed * 7 + 1)));
    return faults.map(({ kind, told }) => `${kind}: ${told}`);
  };
  const make = (seed: number): RandomGraphPlan => planRandomGraph(seed, { nodesMost: 7, recovers: true, ...options });
  return tellFaults(seeds, { ...planProperty, make, faultsOf });
}

test('X5 a preview predicts what a fork then does, of forks of forks too', { timeout: 120_000 }, async () => {
  const found = await findAll((trial, random) => findFaultsOfForks(trial, random, drawPatch));
  console.log(`forked ${graphs} graphs from seed ${firstSeed}, and their forks, and the forks of those`);
  expect(found).toEqual([]);
});

test(
  'X5 a preview predicts what a resume then does, of a run that was killed or has failed',
  { timeout: 120_000 },
  async () => {
    const found = await findAll(findFaultsOfResumes);
    console.log(`killed and resumed ${graphs} graphs from seed ${firstSeed}`);
    expect(found).toEqual([]);
  },
);

test('X5 G8 previews of resumes and forks agree with runs whose nodes fail last', { timeout: 120_000 }, async () => {
  const some = drawn.slice(0, Math.ceil(drawn.length / 10));
  const failsLast = { failsLast: true };
  expect(await findAll(findFaultsOfResumes, some, failsLast)).toEqual([]);
  expect(await findAll((trial, random) => findFaultsOfForks(trial, random, drawPatch), some, failsLast)).toEqual([]);
});
