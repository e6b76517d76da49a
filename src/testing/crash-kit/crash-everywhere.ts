/** The crash kit: runs a graph once, then once for each point at which its process could be killed, and compares the results (P1, P2). */
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import type { RunResult } from '../../engine/api.ts';
import { createEngine } from '../../engine/engine.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import { createSeededRandom } from '../../ports/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../../ports/virtual-clock.ts';
import { type TrialEnd, checksumsOf, summariseRun, compareTrials, findQuietFault } from './compare-trials.ts';
import {
  type CrashCase,
  type CrashKitOptions,
  mortalBlobs,
  mortalStore,
  Life,
  mortalOracle,
  type CrashPoint,
  type CrashStorage,
  WorkUnderWay,
  caseNames,
  type CrashFault,
  type CrashReport,
} from './process-life.ts';
import { driveRun, createEffectOracle, type DriveOptions, type EffectOracle } from './find-effect-faults.ts';
import { watchGraph } from './watch-graph.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

// One trial on virtual time: a run whose processes are killed at certain points, one after another, until it has ended.

/** The result of one trial. */
export interface CrashTrial extends TrialEnd {
  readonly firstLife: Life;
  /** How many of its processes were killed. */
  readonly crashes: number;
  /** Number of the run's checkpoints, and (`bytes`) their size. */
  readonly checkpoints: number;
  readonly bytes: number;
  /** Committed checkpoints that changed or disappeared afterwards. */
  readonly faults: readonly string[];
}

const runId = '01890000-0000-7000-8000-000000000001';
const tenant = 'default';

/**
 * Runs a case. Its first processes are killed at these points in turn, and each is followed by another process.
 * @throws INTERNAL the run does not end
 */
export async function runTrial(
  crashCase: CrashCase,
  options: CrashKitOptions,
  points: readonly CrashPoint[],
): Promise<CrashTrial> {
  const time = createVirtualClock({ isBusy: () => work.isBusy() });
  const lives: Life[] = [];
  const opened = await options.open(time.now, () => lives.at(-1)?.kill());
  const work = new WorkUnderWay();
  const world: TrialWorld = {
    time,
    storage: opened,
    sharedBlobs: createMemoryBlobs(time.now),
    work,
    effects: createEffectOracle(),
    calls: createEffectOracle(),
    lives,
    committed: [],
  };
  try {
    for (;;) {
      const life = new Life(points[lives.length]);
      lives.push(life);
      const result = await time.run(Promise.race([live(crashCase, options, world, life), life.death]));
      if (result !== undefined) return await endTrial(crashCase, world, result);
      // Wait for outside work that the killed process had begun, before the state is examined.
      await work.atRest();
      if (world.storage.reopen !== undefined) {
        await world.storage.store.close();
        world.storage = await world.storage.reopen();
      }
      const rows = await world.storage.store.readCheckpoints({ tenant, runId }, { from: 0, to: Infinity });
      world.committed.push(...checksumsOf(rows));
    }
  } finally {
    await world.storage.store.close();
  }
}

/** What the processes of one trial share. */
interface TrialWorld {
  readonly time: VirtualClock;
  /** As the process that runs now has opened it. */
  storage: CrashStorage;
  /** Where blobs are, if the storage has no place for them. */
  readonly sharedBlobs: BlobStore;
  readonly work: WorkUnderWay;
  readonly effects: EffectOracle;
  readonly calls: EffectOracle;
  readonly lives: Life[];
  /** Checkpoints that were acknowledged, or found after a crash, with their checksums. */
  readonly committed: string[];
}

async function endTrial(
  crashCase: CrashCase,
  { storage: { store }, effects, calls, lives, committed }: TrialWorld,
  result: RunResult,
): Promise<CrashTrial> {
  const summary = await summariseRun(store, tenant, result, crashCase);
  const rows = await store.readCheckpoints({ tenant, runId }, { from: 0, to: result.seq });
  const stored = new Set(checksumsOf(rows));
  return {
    summary,
    effects: effects.entries,
    calls: calls.entries,
    firstLife: lives[0] as Life,
    crashes: lives.length - 1,
    checkpoints: rows.length,
    bytes: rows.reduce((total, { body }) => total + body.byteLength, 0),
    faults: committed
      .filter((checksum) => !stored.has(checksum))
      .map((checksum) => `checkpoint ${checksum} did not stay as it was; expected: what is committed stays`),
  };
}

/** Runs one process: opens an engine on what earlier ones stored, and advances the run until it ends or the process is killed. */
async function live(crashCase: CrashCase, options: CrashKitOptions, world: TrialWorld, life: Life): Promise<RunResult> {
  const { time, storage, work, effects, calls, lives } = world;
  const clock = time.openProcess(life);
  const sleep = (delayMs: number): Promise<void> => work.wait(() => clock.sleep(delayMs));
  const random = createSeededRandom(lives.length);
  const process = { oracle: mortalOracle(effects, life), sleep };
  const graph = watchGraph(crashCase.graph(process), {
    life,
    work,
    oracle: effects,
    calls,
  });
  const ownStore = mortalStore(storage.store, life, work, ({ claim, checkpoint }) => {
    if (claim.runId === runId) world.committed.push(...checksumsOf([checkpoint]));
  });
  const engine = createEngine({
    store: ownStore,
    blobs: mortalBlobs(storage.blobs ?? world.sharedBlobs, life, work),
    clock,
    ids: {
      workerId: workerName(lives.length - 1),
      createRunId: () => runId,
      random: () => random.next(),
      isWorkerDead: (workerId) => lives.some((other, index) => other.isDead && workerName(index) === workerId),
    },
    tenant,
    findGraph: () => graph,
    ...(crashCase.models === undefined ? {} : { models: crashCase.models(process) }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
  const drive: DriveOptions = {
    isThere: async () => (await ownStore.readRun({ tenant, runId })) !== undefined,
    engine,
    graph,
    runId,
    input: crashCase.input,
    users: crashCase,
    sliceMs: crashCase.sliceMs,
    findEffect: (key) => effects.find(key) ?? calls.find(key),
    sleep: clock.sleep,
    now: clock.now,
  };
  const result = await driveThrough(drive, storage.isInterruption);
  await engine.close();
  return result;
}

/** A storage crashes once or twice in a trial; each crash may interrupt a few calls. */
const interruptionsMost = 20;

/** Drives a run to its end, and on after interruptions. */
async function driveThrough(drive: DriveOptions, isInterruption: CrashStorage['isInterruption']): Promise<RunResult> {
  for (let count = 0; ; count += 1)
    try {
      return await driveRun(drive);
    } catch (error) {
      if (count >= interruptionsMost || isInterruption?.(error) !== true) throw error;
      await drive.sleep(1);
    }
}

function workerName(index: number): string {
  return `process-${index + 1}`;
}

/**
 * Kills a run's process at every point, simulated within this process and on virtual time, and resumes the run in a new one. Time stands
 * still while a function waits for something real, such as a command. It is fast enough for thousands of points. For real kills with
 * SIGKILL see {@link crashProcesses}.
 * @throws INTERNAL the run does not end even without a crash
 */
export async function crashEverywhere(crashCase: CrashCase, options: CrashKitOptions): Promise<CrashReport> {
  refuseUnknownKeys('the case of crashEverywhere', crashCase, caseNames);
  refuseUnknownKeys('crashEverywhere', options, ['open', 'choose', 'limits']);
  const expected = await crashFree(crashCase, options);
  const { points } = expected.firstLife;
  const fault = findQuietFault(expected.summary, crashCase.mayFail);
  if (fault !== undefined) return { points: points.length, trials: 0, faults: [{ points: [], faults: [fault] }] };
  const trials = options.choose?.(points) ?? points.map((point) => [point]);
  const faults: CrashFault[] = [];
  for (const chosen of trials) {
    const found = await faultsOf(crashCase, options, chosen, expected);
    if (found.length > 0) faults.push({ points: chosen, faults: found });
  }
  return { points: points.length, trials: trials.length, faults };
}

/** Runs a case once without a crash. Other trials are compared with it. @throws INTERNAL the run does not end */
export function crashFree(crashCase: CrashCase, options: CrashKitOptions): Promise<CrashTrial> {
  return runTrial(crashCase, options, []);
}

async function faultsOf(
  crashCase: CrashCase,
  options: CrashKitOptions,
  points: readonly CrashPoint[],
  expected: CrashTrial,
): Promise<readonly string[]> {
  try {
    const trial = await runTrial(crashCase, options, points);
    return [...trial.faults, ...compareTrials(crashCase.isScheduleFree ?? true, trial.crashes, expected, trial)];
  } catch (error) {
    const met = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return [`the resumed run met ${met}; expected: it ends, ${expected.summary.status}`];
  }
}
