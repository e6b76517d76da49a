/** Seeded simulation: several workers over one store that fails, in virtual time; one seed is one run, and its forks (P1 to P4). */
import type { CrashStorage, CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { crashFree } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { createEffectOracle } from '../../src/testing/crash-kit/find-effect-faults.ts';
import { randomGraphCase, randomGraphInput } from '../random-graph/random-graph.ts';
import { planRandomGraph, type RandomGraphOptions, type RandomGraphPlan } from '../random-graph/plan-random-graph.ts';
import { mixNumber } from '../random-graph/mix-number.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../../src/ports/virtual-clock.ts';
import { attendRun } from './client.ts';
import { endFaults, whereIs, type EndedSimulation } from './end-faults.ts';
import { attendForks } from './forks.ts';
import { drawFaultRates, noFaults } from './network.ts';
import { createWitness } from './witness.ts';
import { work, type SimulatedNode, type SimulationWorld } from './worker.ts';

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
  readonly forks: number;
  readonly checkpoints: number;
  /** Virtual ms it took. */
  readonly elapsedMs: number;
}

const tenant = 'default';
const runId = 'simulated';
/** Faults end after this, so that every run must end, too. */
const roughMs = 60_000;
/** A simulation that takes longer is stuck: no wait and no deadline in it is longer than a few virtual minutes. */
const stuckMs = 10 * 60_000;

/** Runs one simulation; everything in it follows from the seed. */
export async function simulate(seed: number, options: SimulationOptions): Promise<SimulationReport> {
  const drawnPlan = planRandomGraph(seed, { nodesMost: 5, ...options.graph });
  const random = createSeededRandom(mixNumber('simulation', seed) + seed * 1_000);
  const time = createVirtualClock();
  const startedAtMs = time.timeMs;
  const storage = options.open(time.now);
  const witness = createWitness(storage.store);
  const oracle = createEffectOracle();
  const drawn = drawFaultRates(random);
  const knowsDeaths = random.chance(0.5);
  const cancelAfterMs = random.chance(0.1) ? random.integer(500) : undefined;
  const plan: RandomGraphPlan = cancelAfterMs === undefined ? drawnPlan : { ...drawnPlan, undoes: true };
  // Frozen, an attempt that would have ended runs out of its time: that is another run, and none that can be foretold.
  const rates = hasTimeouts(plan) || plan.undoes === true ? { ...drawn, frozen: 0 } : drawn;
  const crashCase = randomGraphCase(plan);
  const expected = await crashFree(crashCase, options);
  let roughUntilMs = startedAtMs + roughMs;
  const world: SimulationWorld = {
    time,
    store: witness.store,
    blobs: storage.blobs ?? createMemoryBlobs(time.now),
    oracle,
    graph: crashCase.graph as (process: CrashProcess) => Graph,
    tenant,
    rates: () => (time.timeMs < roughUntilMs ? rates : noFaults),
    deaths: new Set(),
    knowsDeaths,
    faults: [],
    forks: new Set(),
    isOver: false,
  };
  const workers = Array.from({ length: 2 + random.integer(3) }, (_, index) =>
    work(world, `worker-${index}`, random.fork()),
  );
  const begin = ({ engine }: SimulatedNode): Promise<unknown> =>
    engine.start(crashCase.graph(quiet) as Graph, crashCase.input, { runId, detach: true });
  const client = { ...crashCase, runId, begin, earlySignals: signalsOf(plan), cancelAfterMs };
  let effectsBeforeForks = 0;
  const attend = async (): Promise<Ends> => {
    const status = await attendRun(world, client, random.fork());
    if (status === 'cancelled' || random.chance(0.4)) return { status, forks: [] };
    roughUntilMs = time.timeMs + roughMs;
    effectsBeforeForks = oracle.entries.length;
    return { status, forks: await attendForks(world, crashCase, runId, random.fork()) };
  };
  let ends: Ends = { status: 'stuck', forks: [] };
  try {
    ends = await time.run(Promise.race([attend(), tooLate(time)]));
  } catch (error) {
    world.faults.push(String(error));
  }
  const { status, forks } = ends;
  const wasToBeCancelled = cancelAfterMs !== undefined;
  const ended = { world, witness, expected, plan, runId, forks, effectsBeforeForks, wasToBeCancelled };
  const report = await reportOf(seed, status, time.timeMs - startedAtMs, ended);
  world.isOver = true;
  await time.run(Promise.all(workers));
  return { ...report, faults: [...world.faults, ...witness.faults, ...report.faults] };
}

async function reportOf(
  seed: number,
  status: string,
  elapsedMs: number,
  ended: EndedSimulation,
): Promise<SimulationReport> {
  const { world, witness, forks } = ended;
  const where = status === 'stuck' ? await whereIs(world, [runId, ...world.forks]) : '';
  const faults =
    status === 'stuck'
      ? [`${stuck(world)} does not end, though nothing fails any more: ${where}`]
      : await endFaults(ended);
  const { checkpoints } = witness.storedOf(runId);
  return { seed, faults, status, deaths: world.deaths.size, forks: forks.length, checkpoints, elapsedMs };
}

function stuck({ forks }: SimulationWorld): string {
  return forks.size === 0 ? 'the run' : 'a fork';
}

/** How a simulation's runs ended. */
interface Ends {
  readonly status: string;
  /** Ids of the forks. */
  readonly forks: readonly string[];
}

/** A graph that is only handed over runs nothing. */
const quiet: CrashProcess = { oracle: createEffectOracle(), sleep: () => Promise.resolve() };

async function tooLate(time: VirtualClock): Promise<Ends> {
  await time.sleep(stuckMs);
  return { status: 'stuck', forks: [] };
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
