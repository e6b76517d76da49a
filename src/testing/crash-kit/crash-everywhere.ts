/** The crash kit: runs a graph once, then once for every point at which its process could be killed, and compares (P1, P2). */
import type { RunResult } from '../../engine/api.ts';
import { createEngine } from '../../engine/engine.ts';
import { CairnError } from '../../errors.ts';
import type { Limits } from '../../engine/limits.ts';
import type { Graph } from '../../graph/graph.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { driveRun, type CrashUsers } from './drive-run.ts';
import { Life, mortalOracle, type CrashPoint, type CrashProcess } from './process-life.ts';
import { mortalStore } from './mortal-store.ts';
import { checksumsOf, compareSummaries, summariseRun, type RunSummary } from './run-summary.ts';
import { createEffectOracle, findEffectFaults, type EffectEntry, type EffectOracle } from './effect-oracle.ts';
import { createSeededRandom } from '../seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';

/** What is run and crashed. */
export interface CrashCase extends CrashUsers {
  /** Builds the graph for one life of a process. All its effects must go through `process.oracle`. */
  readonly graph: (process: CrashProcess) => Graph;
  readonly input: unknown;
  /** False: what else was done before a failure depends on the schedule; only the end, and what was done twice, is compared. Default true. */
  readonly isScheduleFree?: boolean;
}

/** What the processes of one trial share: an empty store, and blobs if values may be large. */
export interface CrashStorage {
  readonly store: Store;
  readonly blobs?: BlobStore;
}

export interface CrashKitOptions {
  /** Opens empty storage for a trial. @param now - epoch ms, the trial's virtual time: leases are measured with it */
  readonly open: (now: () => number) => CrashStorage | Promise<CrashStorage>;
  /** Which trials to make, given the points there are. Default: one for each point. A trial of several points crashes its first processes in turn. */
  readonly choose?: (points: readonly CrashPoint[]) => readonly (readonly CrashPoint[])[];
  readonly limits?: Partial<Limits>;
}

export interface CrashFault {
  readonly points: readonly CrashPoint[];
  /** What differs, one sentence each. */
  readonly faults: readonly string[];
}

export interface CrashReport {
  /** Trials whose point did not come: real processes do not share checkpoints alike each time. Absent: none. */
  readonly missed?: number;
  /** Points at which a process was killed. */
  readonly points: number;
  readonly trials: number;
  readonly faults: readonly CrashFault[];
}

/** What is kept of one trial. */
export interface CrashTrial {
  readonly summary: RunSummary;
  readonly effects: readonly EffectEntry[];
  readonly firstLife: Life;
  /** Checkpoints of the run, and their bytes. */
  readonly checkpoints: number;
  readonly bytes: number;
  /** Committed checkpoints that changed or went away afterwards. */
  readonly faults: readonly string[];
}

const runId = '01890000-0000-7000-8000-000000000001';
const tenant = 'default';

/**
 * Kills the process of a run at every point, in this process and on virtual time, and resumes it in a new one.
 * It is fast enough for thousands of points; the real SIGKILL is in {@link crashProcesses}.
 * @throws INTERNAL the run does not end even without a crash
 */
export async function crashEverywhere(crashCase: CrashCase, options: CrashKitOptions): Promise<CrashReport> {
  const expected = await crashFree(crashCase, options);
  const points = pointsOf(expected.firstLife);
  const trials = options.choose?.(points) ?? points.map((point) => [point]);
  const faults: CrashFault[] = [];
  for (const chosen of trials) {
    const found = await faultsOf(crashCase, options, chosen, expected);
    if (found.length > 0) faults.push({ points: chosen, faults: found });
  }
  return { points: points.length, trials: trials.length, faults };
}

/** Runs a case once, without a crash: what others are compared with. @throws INTERNAL the run does not end */
export function crashFree(crashCase: CrashCase, options: CrashKitOptions): Promise<CrashTrial> {
  return runTrial(crashCase, options, []);
}

function pointsOf({ counts }: Life): readonly CrashPoint[] {
  return (['write', 'effect'] as const).flatMap((kind) =>
    Array.from({ length: counts[kind] }, (_, index) => index + 1).flatMap((number) =>
      (['before', 'after'] as const).map((when) => ({ kind, number, when })),
    ),
  );
}

async function faultsOf(
  crashCase: CrashCase,
  options: CrashKitOptions,
  points: readonly CrashPoint[],
  expected: CrashTrial,
): Promise<readonly string[]> {
  try {
    const trial = await runTrial(crashCase, options, points);
    return [...trial.faults, ...compareTrials(crashCase.isScheduleFree ?? true, points.length, expected, trial)];
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}

/** How a crashed trial differs from one without a crash, one sentence each. */
export function compareTrials(
  isScheduleFree: boolean,
  crashes: number,
  expected: Pick<CrashTrial, 'summary' | 'effects'>,
  found: Pick<CrashTrial, 'summary' | 'effects'>,
): readonly string[] {
  const effects = findEffectFaults(
    found.effects,
    isScheduleFree ? expected.effects : undefined,
    repeatsMost(expected.effects) + crashes,
  );
  if (isScheduleFree) return [...compareSummaries(expected.summary, found.summary), ...effects];
  const { status } = found.summary;
  return status === expected.summary.status
    ? effects
    : [`the run is ${status}, not ${expected.summary.status}`, ...effects];
}

/** How often a repeatable effect arrives under one key even without a crash. */
function repeatsMost(entries: readonly EffectEntry[]): number {
  const counts = new Map<string, number>();
  for (const { key } of entries) counts.set(key, (counts.get(key) ?? 0) + 1);
  return Math.max(1, ...counts.values());
}

async function runTrial(
  crashCase: CrashCase,
  options: CrashKitOptions,
  points: readonly CrashPoint[],
): Promise<CrashTrial> {
  const time = createVirtualClock();
  const { store, blobs = noBlobs } = await options.open(time.now);
  const effects = createEffectOracle();
  const lives: Life[] = [];
  const committed: string[] = [];
  try {
    for (;;) {
      const life = new Life(points[lives.length]);
      lives.push(life);
      const running = live({ crashCase, limits: options.limits, time, store, blobs, lives, life, effects });
      const result = await time.run(Promise.race([running, life.death]));
      if (result === undefined) {
        committed.push(...checksumsOf(await store.readCheckpoints({ tenant, runId }, { from: 0, to: Infinity })));
        continue;
      }
      const summary = await summariseRun(store, tenant, result);
      const rows = await store.readCheckpoints({ tenant, runId }, { from: 0, to: result.seq });
      const kept = new Set(checksumsOf(rows));
      const faults = committed
        .filter((checksum) => !kept.has(checksum))
        .map((checksum) => `checkpoint ${checksum} did not stay as it was`);
      const bytes = rows.reduce((total, { body }) => total + body.byteLength, 0);
      return {
        summary,
        effects: effects.entries,
        firstLife: lives[0] as Life,
        checkpoints: rows.length,
        bytes,
        faults,
      };
    }
  } finally {
    await store.close();
  }
}

interface LifeOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly crashCase: CrashCase;
  readonly limits: Partial<Limits> | undefined;
  readonly time: VirtualClock;
  readonly lives: readonly Life[];
  readonly life: Life;
  readonly effects: EffectOracle;
}

/** One process: opens an engine of its own on what the others left, and brings the run as far as it lives. */
async function live({ crashCase, limits, time, store, blobs, lives, life, effects }: LifeOptions): Promise<RunResult> {
  const clock = time.openProcess(life);
  const oracle = mortalOracle(effects, life);
  const { sleep } = clock;
  const process: CrashProcess = { oracle, sleep };
  const random = createSeededRandom(lives.length);
  const engine = createEngine({
    store: mortalStore(store, life),
    blobs,
    clock,
    ids: {
      workerId: workerName(lives.length - 1),
      createRunId: () => runId,
      random: () => random.next(),
      isWorkerDead: (workerId) => lives.some((other, index) => other.isDead && workerName(index) === workerId),
    },
    tenant,
    ...(limits === undefined ? {} : { limits }),
  });
  const graph = crashCase.graph(process);
  const isThere = async (): Promise<boolean> => (await store.readRun({ tenant, runId })) !== undefined;
  const result = await driveRun({
    isThere,
    engine,
    graph,
    runId,
    input: crashCase.input,
    users: crashCase,
    oracle,
    sleep,
    now: () => clock.now(),
  });
  await engine.close();
  return result;
}

/** For cases whose values are small: a value over the inline limit is refused. */
export const noBlobs: BlobStore = {
  name: 'none',
  put: () =>
    Promise.reject(
      new CairnError('CONFIG_INVALID', { path: 'blobs', reason: 'the case was opened without a blob store' }),
    ),
  get: (_tenant, hash) => Promise.reject(new CairnError('BLOB_NOT_FOUND', { hash })),
  has: () => Promise.resolve(false),
  collect: () => Promise.resolve(0),
};

function workerName(index: number): string {
  return `process-${index + 1}`;
}
