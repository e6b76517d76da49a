/** A simulated worker: one process after another, each advancing whatever run it can claim. */
import type { Engine } from '../../src/engine/api.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { CairnError } from '../../src/errors.ts';
import type { Graph } from '../../src/graph/graph.ts';
import type { BlobStore } from '../../src/ports/blobs.ts';
import type { Store } from '../../src/ports/store.ts';
import { mortalOracle, Life, type CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import type { EffectOracle } from '../../src/testing/crash-kit/find-effect-faults.ts';
import type { SeededRandom } from '../../src/ports/seeded-random.ts';
import type { VirtualClock } from '../../src/ports/virtual-clock.ts';
import { createNetworkStore, type FaultRates, type SimulatedProcess } from './network.ts';

/** What the processes of a simulation share. */
export interface SimulationWorld {
  readonly time: VirtualClock;
  /** The store behind all faults. */
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly oracle: EffectOracle;
  readonly graph: (process: CrashProcess) => Graph;
  readonly rates: () => FaultRates;
  readonly tenant: string;
  /** Names of processes that died; whether others may know is drawn. */
  readonly deaths: Set<string>;
  readonly knowsDeaths: boolean;
  /** Errors no worker should ever see, one sentence each. */
  readonly faults: string[];
  /** Forks that nobody is known to have ended: a worker takes them up, as their client asked for. */
  readonly forks: Set<string>;
  /** True when everything is over: then nobody starts anything more. */
  isOver: boolean;
}

const leaseMs = 5_000;
/** Longer than a lease; two of them end before the deadline of an effect begun before. */
const freezeMsMost = 12_000;
const effectMs = 60_000;

export interface SimulatedNode extends SimulatedProcess {
  readonly name: string;
  readonly engine: Engine;
}

/** Opens a process with an engine of its own. */
export function openProcess(world: SimulationWorld, name: string, random: SeededRandom): SimulatedNode {
  const { time, blobs, tenant, deaths } = world;
  const process: SimulatedProcess = { isDead: false, frozenUntilMs: undefined, freezesLeft: 2 };
  const clock = time.openProcess(process);
  const store = createNetworkStore({
    store: world.store,
    clock,
    random: random.fork(),
    process,
    rates: world.rates,
    freezeMsMost,
  });
  const life = new Life();
  Object.defineProperty(life, 'isDead', { get: () => process.isDead });
  const oracle = mortalOracle(world.oracle, life);
  const graph = world.graph({ oracle, sleep: clock.sleep });
  const ids = random.fork();
  const engine = createEngine({
    store,
    blobs,
    clock,
    ids: {
      workerId: name,
      createRunId: () => `run-${ids.integer(1e9)}`,
      random: () => ids.next(),
      isWorkerDead: (workerId) => (world.knowsDeaths && deaths.has(workerId) ? true : undefined),
    },
    tenant,
    leaseMs,
    bounds: { effectMs, messagePollMs: 400, holdTimersMs: random.pick([0, 100, 10_000]) },
    findGraph: () => graph,
  });
  return Object.assign(process, { name, engine });
}

/** What a worker may meet and go on: someone else has the run, or the store was away. */
export function isExpected(error: unknown): boolean {
  return (
    CairnError.is(error) &&
    (error.retry === 'later' ||
      ['RUN_NOT_FOUND', 'RUN_EXISTS', 'RUN_FINISHED', 'RUN_CANCELLED', 'STORE_CLOSED'].includes(error.code))
  );
}

/** More than a simulation has. */
const runsAtOnce = 100;

/** Works until the simulation is over; a process that dies is followed by another. */
export async function work(world: SimulationWorld, name: string, random: SeededRandom): Promise<void> {
  const { time } = world;
  for (let incarnation = 1; !world.isOver; incarnation += 1) {
    const process = openProcess(world, `${name}.${incarnation}`, random.fork());
    while (!world.isOver && !process.isDead) {
      // The poll is the worker's own loop: if the process dies in it, the next tick of the simulation goes on here.
      void poll(world, process);
      await time.sleep(100 + random.integer(900));
    }
    if (process.isDead) world.deaths.add(process.name);
    await time.sleep(random.integer(2_000));
  }
}

async function poll({ faults, forks }: SimulationWorld, { engine, name }: SimulatedNode): Promise<void> {
  const expect = (error: unknown): void => {
    if (isExpected(error)) return;
    faults.push(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  };
  try {
    const taken = await engine.takeUp({ limit: runsAtOnce });
    const handles = [
      ...taken.map(({ handle }) => handle),
      ...[...forks].map((runId) => engine.resume(runId, { retryFailed: false })),
    ];
    await Promise.all(handles.map((handle) => handle.then((run) => run.result()).catch(expect)));
  } catch (error) {
    expect(error);
  }
}
