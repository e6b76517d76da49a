/** Seeded simulation: several workers over one store that fails, in virtual time; one seed is one run (P1 to P4). */
import { compareTrials } from '../../src/testing/crash-kit/compare-trials.ts';
import type { CrashStorage } from '../../src/testing/crash-kit/crash-case.ts';
import { crashFree } from '../../src/testing/crash-kit/crash-everywhere.ts';
import type { CrashTrial } from '../../src/testing/crash-kit/crash-trial.ts';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { summariseRun } from '../../src/testing/crash-kit/run-summary.ts';
import { createEffectOracle } from '../../src/testing/crash-kit/effect-oracle.ts';
import { findEffectFaults } from '../../src/testing/crash-kit/find-effect-faults.ts';
import type { EffectOracle } from '../../src/testing/crash-kit/effect-oracle.ts';
import { randomGraphCase, randomGraphInput } from '../random-graph/random-graph.ts';
import { planRandomGraph } from '../random-graph/plan-random-graph.ts';
import type { RandomGraphOptions, RandomGraphPlan } from '../random-graph/plan-random-graph.ts';
import { mixNumber } from '../random-graph/mix-number.ts';
import { createSeededRandom } from '../../src/testing/seeded-random.ts';
import { attendRun } from './client.ts';
import { drawFaultRates, noFaults } from './network.ts';
import { createVirtualClock, type VirtualClock } from '../../src/testing/virtual-clock.ts';
import { createWitness } from './witness.ts';
import type { StoreWitness } from './witness.ts';
import { openProcess, work } from './worker.ts';
import type { SimulationWorld } from './worker.ts';

export interface SimulationOptions {
  /** Opens an empty store and blobs. @param now - epoch ms, virtual: leases are measured with it */
  readonly open: (now: () => number) => CrashStorage;
  /** Default: at most 5 nodes. */
  readonly graph?: RandomGraphOptions;
}

export interface SimulationReport {
  readonly seed: number;
  /** What must not be and was, one sentence each. */
  readonly faults: readonly string[];
  readonly status: string;
  /** How rough it was. */
  readonly deaths: number;
  readonly checkpoints: number;
  /** Virtual ms it took. */
  readonly elapsedMs: number;
}

const tenant = 'default';
const runId = 'simulated';
/** Faults end after this, so that every run must end, too. */
const roughMs = 60_000;

/** Runs one simulation; everything in it follows from the seed. */
export async function simulate(seed: number, options: SimulationOptions): Promise<SimulationReport> {
  const plan = planRandomGraph(seed, { nodesMost: 5, ...options.graph });
  const crashCase = randomGraphCase(plan);
  const expected = await crashFree(crashCase, options);
  const random = createSeededRandom(mixNumber('simulation', seed) + seed * 1_000);
  const time = createVirtualClock();
  const startedAtMs = time.timeMs;
  const storage = options.open(time.now);
  const witness = createWitness(storage.store);
  const oracle = createEffectOracle();
  const drawn = drawFaultRates(random);
  // Frozen, an attempt that would have ended runs out of its time: that is another run, and none that can be foretold.
  const rates = hasTimeouts(plan) ? { ...drawn, frozen: 0 } : drawn;
  const world: SimulationWorld = {
    time,
    store: witness.store,
    blobs: storage.blobs ?? createMemoryBlobs(time.now),
    oracle,
    graph: crashCase.graph,
    tenant,
    rates: () => (time.timeMs - startedAtMs < roughMs ? rates : noFaults),
    deaths: new Set(),
    knowsDeaths: random.chance(0.5),
    faults: [],
    isOver: false,
  };
  const cancelAfterMs = random.chance(0.1) ? random.integer(500) : undefined;
  const workers = Array.from({ length: 2 + random.integer(3) }, (_, index) =>
    work(world, `worker-${index}`, random.fork()),
  );
  const client = { ...crashCase, runId, earlySignals: signalsOf(plan), cancelAfterMs };
  let status = 'stuck';
  try {
    status = await time.run(Promise.race([attendRun(world, client, random.fork()), tooLate(time)]));
  } catch (error) {
    world.faults.push(String(error));
  }
  const elapsedMs = time.timeMs - startedAtMs;
  const faults = [
    ...world.faults,
    ...witness.faults,
    ...(status === 'stuck'
      ? [`the run does not end, though nothing fails any more: ${await where(world)}`]
      : await endFaults(world, witness, oracle, expected, plan, cancelAfterMs !== undefined)),
  ];
  world.isOver = true;
  await time.run(Promise.all(workers));
  return { seed, faults, status, deaths: world.deaths.size, checkpoints: witness.stored.checkpoints, elapsedMs };
}

async function tooLate(time: VirtualClock): Promise<string> {
  await time.sleep(24 * 3_600_000);
  return 'stuck';
}

function hasTimeouts({ nodes }: RandomGraphPlan): boolean {
  return nodes.some(
    ({ effect, parts }) => effect.hangs || parts.some((part) => 'graph' in part && hasTimeouts(part.graph)),
  );
}

/** Signals that a first visit waits for, by the names that nodes give them. */
function signalsOf(plan: RandomGraphPlan): readonly string[] {
  return plan.nodes.flatMap(({ id, parts }) =>
    parts.flatMap(({ kind }, index) =>
      kind === 'signal' ? [`signal ${randomGraphInput.trail}/${id}#1/${index}`] : [],
    ),
  );
}

async function endFaults(
  world: SimulationWorld,
  witness: StoreWitness,
  oracle: EffectOracle,
  expected: CrashTrial,
  plan: RandomGraphPlan,
  mayBeCancelled: boolean,
): Promise<readonly string[]> {
  const { time } = world;
  // Whoever still believes to own the run has the time to write: it must be refused.
  await time.run(time.sleep(60_000));
  const inspector = openProcess(world, 'inspector', createSeededRandom(1));
  const result = await time.run(inspector.engine.inspect(runId));
  const summary = await summariseRun(witness.store, tenant, result);
  const open = await witness.store.listWaits({ tenant, runId });
  const faults = open.rows.map(({ waitId }) => `wait ${waitId} is open though the run has ended`);
  if (mayBeCancelled && result.status === 'cancelled')
    return [...faults, ...findEffectFaults(oracle.entries, undefined, Infinity)];
  return [
    ...faults,
    ...compareTrials(plan.isScheduleFree, Infinity, expected, { summary, effects: oracle.entries }),
    ...storedFaults(witness, expected),
  ];
}

async function where({ store }: SimulationWorld): Promise<string> {
  const run = await store.readRun({ tenant, runId });
  const { rows } = await store.listWaits({ tenant, runId });
  const waits = rows.map(({ kind, waitId, body }) => `${kind} ${waitId} ${Buffer.from(body).toString()}`);
  return JSON.stringify({
    status: run?.status,
    head: run?.head,
    claim: run?.claim,
    hasMessages: run?.hasMessages,
    waits,
  });
}

/** What may be stored beyond what a quiet run stores: the checkpoints and the questions that faults made necessary, each small (P3). */
const extraBytesMost = 4_096;
const waitBytesMost = 1_024;

function storedFaults({ stored }: StoreWitness, expected: CrashTrial): readonly string[] {
  const extra = Math.max(0, stored.checkpoints - expected.checkpoints);
  const boundBytes = 2 * expected.bytes + extraBytesMost * (extra + 2) + waitBytesMost * stored.waits;
  return stored.bytes > boundBytes ? [`${stored.bytes} bytes are stored, over ${boundBytes}`] : [];
}
