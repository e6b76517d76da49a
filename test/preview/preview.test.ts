/** What a preview says is what then happens, over random graphs and random patches (X5). */
import { expect, test } from 'vitest';
import type { Engine, ForkOptions, PreviewRow, RunResult } from '../../src/engine/api.ts';
import { createEngine } from '../../src/engine/engine.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createMemoryStore } from '../../src/stores/memory/memory-store.ts';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { driveRun } from '../../src/testing/crash-kit-drive.ts';
import { createEffectOracle, type EffectOracle } from '../../src/testing/effect-oracle.ts';
import { buildRandomGraph, randomGraphCase } from '../../src/testing/random-graph.ts';
import { planRandomGraph } from '../../src/testing/random-graph-plan.ts';
import { createSeededRandom } from '../../src/testing/seeded-random.ts';
import { SimulatedTime } from '../../src/testing/simulate-time.ts';

/** Repeat one graph with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
const graphs = Number(process.env['CAIRN_GRAPHS'] ?? 300);

interface Trial {
  readonly engine: Engine;
  readonly graph: Graph;
  readonly oracle: EffectOracle;
  readonly drive: (runId: string) => Promise<RunResult>;
}

function openTrial(seed: number, time: SimulatedTime): Trial {
  const plan = planRandomGraph(seed, { nodesMost: 7 });
  const crashCase = randomGraphCase(plan);
  const state = { isDead: false };
  const clock = time.openClock(state);
  const store = createMemoryStore({ now: () => time.nowMs });
  const oracle = createEffectOracle();
  const sleep = (delayMs: number): Promise<void> => time.sleep(state, delayMs);
  const graph = buildRandomGraph(plan, { oracle, sleep });
  const random = createSeededRandom(seed);
  let runs = 0;
  const ids = {
    workerId: 'worker',
    createRunId: () => `fork-${(runs += 1)}`,
    random: () => random.next(),
    isWorkerDead: () => undefined,
  };
  const engine = createEngine({ store, blobs: createMemoryBlobs(() => time.nowMs), clock, ids });
  const drive = (runId: string): Promise<RunResult> =>
    driveRun({
      engine,
      graph,
      runId,
      oracle,
      sleep,
      input: crashCase.input,
      users: crashCase,
      now: () => clock.now(),
      isThere: async () => (await store.readRun({ tenant: 'default', runId })) !== undefined,
    });
  return { engine, graph, oracle, drive };
}

/** What became of each visit: taken over or run, by the first part of the history that tells. */
async function outcomesAfter(engine: Engine, runId: string, after: number): Promise<ReadonlyMap<string, string>> {
  const outcomes = new Map<string, string>();
  for await (const event of engine.events(runId, { after })) {
    if (event.type !== 'checkpoint') continue;
    for (const part of event.change) {
      if (part.node === undefined || part.node.length !== 1 || ['skipped', 'cancelled'].includes(part.status ?? ''))
        continue;
      const told =
        part.kind === 'replay'
          ? 'taken over'
          : ['settle', 'intent', 'retry', 'wait', 'step'].includes(part.kind)
            ? 'run'
            : undefined;
      const place = `${part.node[0]}`;
      if (told !== undefined && !outcomes.has(place)) outcomes.set(place, told);
    }
  }
  return outcomes;
}

/** A failure that nothing handled stops what would have come, so of a failed run only what did come is compared. */
function faultsOf(
  rows: readonly PreviewRow[],
  outcomes: ReadonlyMap<string, string>,
  isFailed: boolean,
): readonly string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const row of rows) {
    const place = row.node.join('/');
    if (row.prediction === 'restored' || row.prediction === 'unknown' || seen.has(place)) continue;
    seen.add(place);
    const expected = row.prediction === 'replayed' || row.prediction === 'reused' ? 'taken over' : 'run';
    const found = outcomes.get(place);
    if (found !== undefined && found !== expected)
      faults.push(`${place} was predicted ${row.prediction}, and was ${found}`);
    if (found === undefined && expected === 'taken over' && !isFailed)
      faults.push(`${place} was predicted ${row.prediction}, and nothing became of it`);
  }
  const told = new Set(rows.map((row) => row.node.join('/')));
  for (const place of outcomes.keys()) if (!told.has(place)) faults.push(`${place} was not predicted`);
  return faults;
}

async function previewSeed(seed: number): Promise<readonly string[]> {
  const random = createSeededRandom(seed * 7 + 1);
  const time = new SimulatedTime();
  const { engine, graph, drive } = openTrial(seed, time);
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
    const outcomes = await outcomesAfter(createEngineFor(engine, graph), fork.runId, fork.seq);
    return faultsOf(rows, outcomes, status === 'failed').map(
      (fault) => `CAIRN_SEED=${seed} CAIRN_GRAPHS=1 at ${at} ${JSON.stringify(options)}: ${fault}`,
    );
  };
  return time.run(work());
}

/** Events need the graph of the run; the engine of the trial has no way to find it. */
function createEngineFor(engine: Engine, graph: Graph): Engine {
  return {
    ...engine,
    events: async function* (runId, options = {}) {
      const handle = await engine.resume(runId, { graph, retryFailed: false });
      await handle.result();
      yield* handle.events({ ...options, live: false });
    },
  };
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
