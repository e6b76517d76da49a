/** What a preview of a fork of a YAML workflow says is what then happens, over random workflows, answers and patches (X5). */
import { expect, test } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import type { Engine, ForkOptions, OpenQuestion } from '../../src/engine/api.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { CairnError } from '../../src/errors.ts';
import { END, START } from '../../src/graph/graph.ts';
import { createMemoryStore } from '../../src/stores/memory/memory-store.ts';
import { driveRun } from '../../src/testing/crash-kit/drive-run.ts';
import { createEffectOracle } from '../../src/testing/crash-kit/effect-oracle.ts';
import { createSeededRandom, type SeededRandom } from '../../src/testing/seeded-random.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import { yamlBench } from '../yaml-bench.ts';
import { answerYamlPlan, buildYamlPlan, planYaml, yamlPlanInput } from '../support/yaml-plan.ts';
import { findPreviewFaults, outcomesAfter } from './preview-kit.ts';

/** Repeat one workflow with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
const graphs = Number(process.env['CAIRN_GRAPHS'] ?? 40);
/** Forks of each. */
const forks = 4;

/** A fork that changes nothing, an input, an outcome, or an answer to a question that was open on the way. */
function drawChange(random: SeededRandom, blocks: readonly string[], asked: readonly OpenQuestion[]): ForkOptions {
  const kind = random.integer(asked.length > 0 ? 5 : 3);
  if (kind === 0) return {};
  if (kind === 1) return { set: [{ path: ['input', 'word'], value: random.pick(['start', 'other']) }] };
  if (kind === 2) return { set: [{ path: ['outputs', random.pick(blocks)], value: { value: 'patched' } }] };
  const { waitId, choices } = random.pick(asked);
  return { answers: { [waitId]: choices === undefined ? 'said otherwise' : random.pick(choices) } };
}

async function findFaults(seed: number): Promise<readonly string[]> {
  const random = createSeededRandom(seed * 7 + 1);
  const plan = planYaml(seed, { blocksMost: 6 });
  const clock = createVirtualClock();
  const store = createMemoryStore({ now: clock.now });
  const oracle = createEffectOracle();
  const { sleep } = clock;
  const graph = buildYamlPlan(plan, { oracle, sleep });
  let runs = 0;
  const ids = {
    workerId: 'worker',
    createRunId: () => `fork-${(runs += 1)}`,
    random: () => random.next(),
    isWorkerDead: () => undefined,
  };
  const engine: Engine = createEngine({
    store,
    blobs: createMemoryBlobs(clock.now),
    clock,
    ids,
    findGraph: () => graph,
  });
  const asked: OpenQuestion[] = [];
  const answer = (question: OpenQuestion): string => {
    if (question.runId === 'original') asked.push(question);
    return answerYamlPlan(question);
  };
  const isThere = (runId: string) => async (): Promise<boolean> =>
    (await store.readRun({ tenant: 'default', runId })) !== undefined;
  const drive = (runId: string): ReturnType<typeof driveRun> => {
    const users = { answer };
    const now = (): number => clock.now();
    return driveRun({ engine, graph, runId, oracle, sleep, input: yamlPlanInput, users, now, isThere: isThere(runId) });
  };
  const others: readonly string[] = [START, END, 'outputs'];
  const blocks = graph.nodes.map(({ id }) => id).filter((id) => !others.includes(id));
  const tryFork = async (seq: number): Promise<readonly string[]> => {
    const at = random.integer(seq + 1);
    const change = drawChange(random, blocks, asked);
    const told = `CAIRN_SEED=${seed} CAIRN_GRAPHS=1 at ${at} ${JSON.stringify(change)}`;
    try {
      const rows = await engine.preview({ runId: 'original', seq: at }, { ...change, graph, asFork: true });
      const fork = await engine.fork({ runId: 'original', seq: at }, change);
      const { status } = await drive(fork.runId);
      const outcomes = await outcomesAfter(engine, graph, fork);
      return findPreviewFaults(rows, outcomes, status === 'failed').map((fault) => `${told}: ${fault}`);
    } catch (error) {
      // The question was asked after the checkpoint.
      if (CairnError.is(error, 'WAIT_NOT_FOUND')) return [];
      throw new Error(told, { cause: error });
    }
  };
  const work = async (): Promise<readonly string[]> => {
    const { seq } = await drive('original');
    const faults: string[] = [];
    for (let count = 0; count < forks; count += 1) faults.push(...(await tryFork(seq)));
    return faults;
  };
  return clock.run(work());
}

test('X5 a preview predicts what a fork of a workflow then does', { timeout: 120_000 }, async () => {
  const faults: string[] = [];
  for (let seed = firstSeed; seed < firstSeed + graphs; seed += 1) {
    try {
      faults.push(...(await findFaults(seed)));
    } catch (error) {
      const { stack, cause } = error as Error;
      faults.push(`CAIRN_SEED=${seed} CAIRN_GRAPHS=1: ${stack} ${cause instanceof Error ? cause.stack : ''}`);
    }
  }
  console.log(`forked ${graphs} workflows from seed ${firstSeed}, ${forks} times each`);
  expect(faults).toEqual([]);
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
