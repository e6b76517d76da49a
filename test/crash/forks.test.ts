/** Random graphs and YAML workflows, killed anywhere, and forked from anywhere before, again and again: the last fork does what the run would have done, and nothing happened twice (P1, P2, X2). */
import type { Graph } from '../../src/graph/graph.ts';
import { expect, it } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import type { Engine, RunResult } from '../../src/engine/api.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { compareTrials, stateText } from '../../src/testing/crash-kit/compare-trials.ts';
import {
  type CrashCase,
  Life,
  mortalOracle,
  type CrashPoint,
  mortalStore,
} from '../../src/testing/crash-kit/process-life.ts';
import { crashFree, type CrashTrial } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { driveRun, createEffectOracle } from '../../src/testing/crash-kit/find-effect-faults.ts';
import { randomGraphCase } from '../random-graph/random-graph.ts';
import { planRandomGraph, type RandomGraphPlan } from '../random-graph/plan-random-graph.ts';
import { planProperty } from '../random-graph/smaller-plan.ts';
import { seeds } from '../support/scale.ts';
import { yamlProperty } from '../support/smaller-yaml.ts';
import { tellFaults, type Property } from '../support/smallest.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import { createVirtualClock } from '../../src/ports/virtual-clock.ts';
import { planYaml, yamlPlanCase, type YamlPlan } from '../support/yaml-plan.ts';

/** Trials of each graph. */
const trials = 4;

const tenant = 'default';
/** Longer than a lease and than any effect: whoever was killed is surely gone. */
const restMs = 3_600_000;

function drawPoint(random: SeededRandom, { firstLife: { counts } }: CrashTrial): CrashPoint {
  const kind = counts.effect > 0 && random.chance(0.5) ? 'effect' : 'write';
  return { kind, number: 1 + random.integer(counts[kind]), when: random.pick(['before', 'after'] as const) };
}

/** Kills a run at a point, and most often its fork too; brings the last fork to its end. Each fork begins somewhere in the run before. */
async function findFaults(
  random: SeededRandom,
  crashCase: CrashCase,
  expected: CrashTrial,
): Promise<readonly string[]> {
  const points = [drawPoint(random, expected), ...(random.chance(0.6) ? [drawPoint(random, expected)] : [])];
  const time = createVirtualClock();
  const store = createMemoryStore({ now: time.now });
  const blobs = createMemoryBlobs(time.now);
  const effects = createEffectOracle();
  const lives = [...points.map((point) => new Life(point)), new Life()];
  const workerOf = (life: Life): string => `worker-${lives.indexOf(life)}`;
  const open = (life: Life): { readonly engine: Engine; readonly drive: (runId: string) => Promise<RunResult> } => {
    const clock = time.openProcess(life);
    const oracle = mortalOracle(effects, life);
    const { sleep } = clock;
    const ids = {
      workerId: workerOf(life),
      createRunId: () => 'unused',
      random: () => 0.5,
      isWorkerDead: (workerId: string) => lives.some((other) => other.isDead && workerOf(other) === workerId),
    };
    const engine = createEngine({ store: mortalStore(store, life), blobs, clock, ids });
    const graph = crashCase.graph({ oracle, sleep }) as Graph;
    const findEffect = (key: string) => effects.find(key);
    const options = {
      engine,
      graph,
      findEffect,
      sleep,
      input: crashCase.input,
      users: crashCase,
      now: () => clock.now(),
    };
    const isThere = (runId: string) => async (): Promise<boolean> =>
      (await store.readRun({ tenant, runId })) !== undefined;
    return { engine, drive: (runId) => driveRun({ ...options, runId, isThere: isThere(runId) }) };
  };
  const told = points.map(({ when, kind, number }) => `killed ${when} ${kind} ${number}`);
  const work = async (): Promise<readonly string[]> => {
    let before = 'original';
    for (const [index, life] of lives.entries()) {
      const { engine, drive } = open(life);
      let runId = before;
      const run = await store.readRun({ tenant, runId });
      if (run !== undefined) {
        // What lies before a fork's own checkpoints is its original's: a fork from there knows nothing of it.
        const first = (run.parent?.seq ?? -1) + 1;
        const seq = first + random.integer(run.head - first + 1);
        runId = `fork-${index}`;
        told.push(`${before} forked at ${seq}`);
        const forked = engine.fork({ runId: before, seq }, { runId }).then(() => true);
        if ((await Promise.race([forked, life.death])) === undefined) continue;
      }
      const result = await Promise.race([drive(runId), life.death]);
      await time.sleep(restMs);
      before = runId;
      if (result === undefined) continue;
      // A fork's history tells of itself only.
      const summary = { ...expected.summary, status: result.status, state: stateText(result) };
      const trial = { summary, effects: effects.entries };
      // What is idempotent may be sent again by each fork, as often as its policy allows: under the same key.
      return compareTrials(crashCase.isScheduleFree ?? true, Infinity, expected, trial);
    }
    return ['nobody lived'];
  };
  try {
    return (await time.run(work())).map((fault) => `${told.join(', ')}: ${fault}`);
  } catch (error) {
    return [`${told.join(', ')}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`];
  }
}

async function forkSeed(seed: number, crashCase: CrashCase): Promise<readonly string[]> {
  const random = createSeededRandom(seed * 11 + 3);
  const open = (
    now: () => number,
  ): { store: ReturnType<typeof createMemoryStore>; blobs: ReturnType<typeof createMemoryBlobs> } => ({
    store: createMemoryStore({ now }),
    blobs: createMemoryBlobs(now),
  });
  const expected = await crashFree(crashCase, { open });
  const found: string[] = [];
  for (let trial = 0; trial < trials; trial += 1) found.push(...(await findFaults(random, crashCase, expected)));
  return found;
}

const graphsOf: Property<RandomGraphPlan> = {
  ...planProperty,
  make: (seed) => planRandomGraph(seed, { nodesMost: 6 }),
  faultsOf: (plan, seed) => forkSeed(seed, randomGraphCase(plan)),
};
const failLastGraphsOf: Property<RandomGraphPlan> = {
  ...graphsOf,
  make: (seed) => planRandomGraph(seed, { nodesMost: 6, failsLast: true }),
};
const workflowsOf: Property<YamlPlan> = {
  ...yamlProperty,
  make: (seed) => planYaml(seed),
  faultsOf: (plan, seed) => forkSeed(seed, yamlPlanCase(plan)),
};

/** Repeat one graph with CAIRN_SEED=N CAIRN_GRAPHS=1. */
it.each<[string, readonly number[], (tried: readonly number[]) => Promise<readonly string[]>]>([
  ['graphs', seeds(10, 400), (tried) => tellFaults(tried, graphsOf)],
  ['graphs that fail last', seeds(4, 200), (tried) => tellFaults(tried, failLastGraphsOf)],
  ['workflows', seeds(4, 120), (tried) => tellFaults(tried, workflowsOf)],
])(
  'P2 X2 forks of killed runs end as the run would have, and repeat none of its effects (%s)',
  { timeout: 600_000 },
  async (name, tried, tell) => {
    const found = await tell(tried);
    console.log(`killed and forked ${tried.length} ${name} from seed ${tried[0]}, ${trials} times each`);
    expect(found).toEqual([]);
  },
);
