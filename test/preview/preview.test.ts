/** What a preview says is what then happens: every visit, both ways, over random graphs and patches and three generations of forks (X5). */
import { expect, test } from 'vitest';
import type { ForkOptions } from '../../src/engine/api.ts';
import { createSeededRandom, type SeededRandom } from '../../src/testing/seeded-random.ts';
import { planRandomGraph } from '../random-graph/plan-random-graph.ts';
import { randomGraphCase } from '../random-graph/random-graph.ts';
import type { PreviewFault } from './find-preview-faults.ts';
import { findFaultsOfForks } from './fork-generations.ts';
import { openForkTrial, type ForkTrial } from './fork-trial.ts';
import { findFaultsOfResumes } from './resumes.ts';

/** Repeat one graph with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
const graphs = Number(process.env['CAIRN_GRAPHS'] ?? 300);

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

/** What is false in the previews of random graphs, with how to repeat it. */
async function findAll(find: FindFaults): Promise<readonly string[]> {
  const found: string[] = [];
  for (let seed = firstSeed; seed < firstSeed + graphs; seed += 1) {
    const repeat = `CAIRN_SEED=${seed} CAIRN_GRAPHS=1`;
    const plan = planRandomGraph(seed, { nodesMost: 7, recovers: true });
    const trial = openForkTrial(randomGraphCase(plan), seed);
    try {
      for (const { kind, told } of await trial.clock.run(find(trial, createSeededRandom(seed * 7 + 1))))
        found.push(`${repeat}: ${kind}: ${told}`);
    } catch (error) {
      throw new Error(repeat, { cause: error });
    }
  }
  return found;
}

test('X5 a preview predicts what a fork then does, of forks of forks too', { timeout: 120_000 }, async () => {
  const found = await findAll((trial, random) => findFaultsOfForks(trial, random, drawPatch));
  console.log(`forked ${graphs} graphs from seed ${firstSeed}, and their forks, and the forks of those`);
  expect(found.slice(0, 8)).toEqual([]);
});

test(
  'X5 a preview predicts what a resume then does, of a run that was killed or has failed',
  { timeout: 120_000 },
  async () => {
    const found = await findAll(findFaultsOfResumes);
    console.log(`killed and resumed ${graphs} graphs from seed ${firstSeed}`);
    expect(found.slice(0, 8)).toEqual([]);
  },
);
