/** What a preview of a fork of a YAML workflow says is what then happens, over random workflows, answers and patches (X5). */
import { expect, test } from 'vitest';
import type { ForkOptions, OpenQuestion } from '../../src/engine/api.ts';
import { END, START } from '../../src/graph/graph.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import { planYaml, yamlPlanCase } from '../support/yaml-plan.ts';
import { yamlBench } from '../yaml-bench.ts';
import type { PreviewFault } from './find-preview-faults.ts';
import { findFaultsOfForks } from './fork-generations.ts';
import { openForkTrial, type ForkTrial } from './fork-trial.ts';
import { findFaultsOfResumes } from './resumes.ts';

/** Repeat one workflow with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
const graphs = Number(process.env['CAIRN_GRAPHS'] ?? 60);

/** A fork that changes nothing, an input, an outcome, or an answer to a question that was open on the way. */
function drawChange(random: SeededRandom, blocks: readonly string[], asked: readonly OpenQuestion[]): ForkOptions {
  const kind = random.integer(asked.length > 0 ? 5 : 3);
  if (kind === 0) return {};
  if (kind === 1) return { set: [{ path: ['input', 'word'], value: random.pick(['start', 'other']) }] };
  if (kind === 2) return { set: [{ path: ['outputs', random.pick(blocks)], value: { value: 'patched' } }] };
  const { waitId, choices } = random.pick(asked);
  return { answers: { [waitId]: choices === undefined ? 'said otherwise' : random.pick(choices) } };
}

type FindFaults = (trial: ForkTrial, random: SeededRandom) => Promise<readonly PreviewFault[]>;

/** What is false in the previews of random workflows, with how to repeat it. */
async function findAll(find: FindFaults): Promise<readonly string[]> {
  const found: string[] = [];
  for (let seed = firstSeed; seed < firstSeed + graphs; seed += 1) {
    const repeat = `CAIRN_SEED=${seed} CAIRN_GRAPHS=1`;
    const trial = openForkTrial(yamlPlanCase(planYaml(seed, { blocksMost: 6 })), seed);
    try {
      for (const { kind, told } of await trial.clock.run(find(trial, createSeededRandom(seed * 7 + 1))))
        found.push(`${repeat}: ${kind}: ${told}`);
    } catch (error) {
      throw new Error(repeat, { cause: error });
    }
  }
  return found;
}

test('X5 a preview predicts what a fork of a workflow then does', { timeout: 120_000 }, async () => {
  const others: readonly string[] = [START, END, 'outputs'];
  const found = await findAll((trial, random) => {
    const blocks = trial.graph.nodes.map(({ id }) => id).filter((id) => !others.includes(id));
    return findFaultsOfForks(trial, random, (draw, asked) => drawChange(draw, blocks, asked));
  });
  console.log(`forked ${graphs} workflows from seed ${firstSeed}, and their forks, and the forks of those`);
  expect(found.slice(0, 8)).toEqual([]);
});

test('X5 a preview predicts what a resume of a workflow then does', { timeout: 120_000 }, async () => {
  const found = await findAll(findFaultsOfResumes);
  console.log(`killed and resumed ${graphs} workflows from seed ${firstSeed}`);
  expect(found.slice(0, 8)).toEqual([]);
});

test('X5 a preview tells of an outcome that the fork sets', async () => {
  const { engine, start } = yamlBench();
  const { runId } = await start(`name: t
blocks:
  - { id: a, type: Shell, inputs: { command: echo a } }
  - { id: b, type: EchoBlock, depends_on: [a], inputs: { message: "\${a.stdout}" } }
`);
  const set = [{ path: ['outputs', 'a'], value: { stdout: 'patched' } }];
  expect(await engine.preview({ runId, seq: 0 }, { set })).toMatchObject([
    { node: ['a'], prediction: 'restored', because: 'set by the fork' },
    { node: ['b'], prediction: 'runs again' },
    { node: ['outputs'], prediction: 'unknown', because: 'b' },
  ]);
});
