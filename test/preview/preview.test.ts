/** What a preview says is what then happens, over random graphs and random patches (X5). */
import { expect, test } from 'vitest';
import type { Engine, ForkOptions, RunResult } from '../../src/engine/api.ts';
import { createEngine } from '../../src/engine/engine.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createMemoryStore } from '../../src/stores/memory/memory-store.ts';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { driveRun } from '../../src/testing/crash-kit/drive-run.ts';
import { createEffectOracle, type EffectOracle } from '../../src/testing/crash-kit/effect-oracle.ts';
import { buildRandomGraph, randomGraphCase } from '../random-graph/random-graph.ts';
import { planRandomGraph } from '../random-graph/plan-random-graph.ts';
import { createSeededRandom } from '../../src/testing/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../../src/testing/virtual-clock.ts';
import { findPreviewFaults, outcomesAfter } from './preview-kit.ts';

/** Repeat one graph with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
const graphs = Number(process.env['CAIRN_GRAPHS'] ?? 300);

interface Trial {
  readonly engine: Engine;
  readonly graph: Graph;
  readonly oracle: EffectOracle;
  readonly drive: (runId: string) => Promise<RunResult>;
}

function openTrial(seed: number, clock: VirtualClock): Trial {
  const plan = planRandomGraph(seed, { nodesMost: 7 });
  const crashCase = randomGraphCase(plan);
  const store = createMemoryStore({ now: clock.now });
  const oracle = createEffectOracle();
  const { sleep } = clock;
  const graph = buildRandomGraph(plan, { oracle, sleep });
  const random = createSeededRandom(seed);
  let runs = 0;
  const ids = {
    workerId: 'worker',
    createRunId: () => `fork-${(runs += 1)}`,
    random: () => random.next(),
    isWorkerDead: () => undefined,
  };
  const engine = createEngine({ store, blobs: createMemoryBlobs(clock.now), clock, ids });
  const drive = (runId: string): Promise<RunResult> =>
    driveRun({
      engine,
      graph,
      runId,
      oracle,
      sleep,
      input: crashCase.input,
      users: crashCase,
      now: clock.now,
      isThere: async () => (await store.readRun({ tenant: 'default', runId })) !== undefined,
    });
  return { engine, graph, oracle, drive };
}

async function previewSeed(seed: number): Promise<readonly string[]> {
  const random = createSeededRandom(seed * 7 + 1);
  const clock = createVirtualClock();
  const { engine, graph, drive } = openTrial(seed, clock);
  const work = async (): Promise<readonly string[]> => {
    await drive('original');
    const { seq } = await engine
      .inspect('original')
      .catch(async () => (await engine.resume('original', { graph, retryFailed: false })).result());
    const at = Math.floor(random.next() * (seq + 1));
    const patches: readonly ForkOptions[] = [
      {},
      { set: [{ path: ['scratch', 'total'], value: Math.floor(random.next() * 100) }] },
      { set: [{ path: ['scratch', 'seen'], value: ['patched'] }] },
      { set: [{ path: ['input', 'trail'], value: 'other' }] },
    ];
    const options = random.pick(patches);
    const rows = await engine.preview({ runId: 'original', seq: at }, { ...options, graph, asFork: true });
    const fork = await engine.fork({ runId: 'original', seq: at }, options);
    const { status } = await drive(fork.runId);
    const outcomes = await outcomesAfter(engine, graph, fork);
    return findPreviewFaults(rows, outcomes, status === 'failed').map(
      (fault) => `CAIRN_SEED=${seed} CAIRN_GRAPHS=1 at ${at} ${JSON.stringify(options)}: ${fault}`,
    );
  };
  return clock.run(work());
}

test('X5 a preview predicts what a fork then does, over random graphs and patches', { timeout: 120_000 }, async () => {
  const faults: string[] = [];
  for (let seed = firstSeed; seed < firstSeed + graphs; seed += 1) {
    try {
      faults.push(...(await previewSeed(seed)));
    } catch (error) {
      faults.push(`CAIRN_SEED=${seed} CAIRN_GRAPHS=1: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
  expect(faults).toEqual([]);
});
