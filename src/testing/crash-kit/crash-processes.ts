/** The crash kit with real processes: at each point a process kills itself with SIGKILL, and a new one resumes the run (P1, P2). */
import { writeFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../app/process/system-clock.ts';
import { createSystemIds } from '../../app/process/process-ids.ts';
import { createFileBlobs } from '../../blobs/file-blobs.ts';
import type { Engine } from '../../engine/api.ts';
import { createEngine } from '../../engine/engine.ts';
import type { Graph } from '../../graph/graph.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Models } from '../../ports/model.ts';
import type { Store } from '../../ports/store.ts';
import { driveRun, openEffectJournal } from './find-effect-faults.ts';
import {
  Life,
  mortalOracle,
  type CrashPoint,
  caseNames,
  type CrashCase,
  mortalBlobs,
  mortalStore,
  WorkUnderWay,
  type CrashFault,
  type CrashReport,
} from './process-life.ts';
import {
  type TrialEnd,
  checksumsOf,
  summariseRun,
  type RunSummary,
  compareTrials,
  findQuietFault,
} from './compare-trials.ts';
import { watchGraph } from './watch-graph.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { spawn } from 'node:child_process';

// The child's side of a real crash: a script that starts a run, and is killed with SIGKILL on the way.

/** Environment variable with which {@link crashProcesses} passes orders to a script. */
const crashOrdersVariable = 'CAIRN_CRASH';

export interface CrashOrders {
  /** Folder for the trial's store and journal of effects; empty at first. */
  readonly folder: string;
  readonly point?: CrashPoint;
  /** Folder of a trial whose process was killed. Its run is finished before this trial begins. */
  readonly finish?: string;
}

/** What a script that was not killed writes to its folder. */
export interface CrashResult extends TrialEnd {
  /** The points at which its process could have been killed. */
  readonly points: readonly CrashPoint[];
  /** Committed checkpoints that changed or disappeared after the crash. */
  readonly lost: readonly string[];
}

const crashResultFile = 'result.json';

export interface CrashScript extends CrashCase {
  /** Called with a trial's folder before anything else. One process may finish one trial and then begin another. */
  readonly enter?: (folder: string) => void | Promise<void>;
  /** Opens the store of a trial. */
  readonly openStore: (folder: string) => Store | Promise<Store>;
  /**
   * Opens an engine over the store, with ids that know which processes are dead. Default: an engine with the system's clock and ids,
   * and blobs in the folder. Pass graphs that the engine finds by itself through `watch`, so that the kit sees what their functions do.
   */
  readonly openEngine?: (store: Store, folder: string, watch: (graph: Graph) => Graph) => Engine;
}

const runId = '01890000-0000-7000-8000-000000000001';
const tenant = 'default';

/** Processes that are really killed wait in real time: for ten minutes at most. */
const sleepMsMost = 600_000;

/**
 * The complete program of a script for {@link crashProcesses}: finishes the run of a killed process, then starts a run of its own, and is
 * killed at the point that was ordered.
 * @throws INTERNAL the run does not end
 */
export async function runCrashScript(script: CrashScript): Promise<void> {
  refuseUnknownKeys('runCrashScript', script, [...caseNames, 'enter', 'openStore', 'openEngine']);
  // Timers of an engine do not keep a process alive, and a run may have nothing else to wait for.
  const alive = setInterval(() => {}, 60_000);
  const { folder, point, finish } = JSON.parse(process.env[crashOrdersVariable] ?? '{}') as CrashOrders;
  if (finish !== undefined) await runTrial(script, finish, undefined);
  await runTrial(script, folder, point);
  clearInterval(alive);
}

async function runTrial(script: CrashScript, folder: string, point: CrashPoint | undefined): Promise<void> {
  await script.enter?.(folder);
  const store = await script.openStore(folder);
  const life = new Life(point, () => process.kill(process.pid, 'SIGKILL'));
  const effects = openEffectJournal(join(folder, 'effects.jsonl'));
  const calls = openEffectJournal(join(folder, 'calls.jsonl'));
  const key = { tenant, runId };
  // What an earlier process committed must not have changed.
  const before =
    (await store.readRun(key)) === undefined
      ? []
      : checksumsOf(await store.readCheckpoints(key, { from: 0, to: Number.MAX_SAFE_INTEGER }));
  const watch = { life, work: new WorkUnderWay(), oracle: effects, calls };
  const own = { oracle: mortalOracle(effects, life), sleep };
  const graph = watchGraph(script.graph(own), watch);
  const openOwn = (of: Store): Engine =>
    openMachineEngine(of, mortalBlobs(createFileBlobs(join(folder, 'blobs')), life, watch.work), script.models?.(own));
  const { openEngine = openOwn } = script;
  const engine = openEngine(mortalStore(store, life, watch.work), folder, (found) => watchGraph(found, watch));
  const isThere = async (): Promise<boolean> => (await store.readRun(key)) !== undefined;
  const result = await driveRun({
    isThere,
    engine,
    graph,
    runId,
    input: script.input,
    users: script,
    findEffect: (effect) => effects.find(effect) ?? calls.find(effect),
    sleep,
    sleepMsMost,
    now: Date.now,
  });
  const stored = new Set(checksumsOf(await store.readCheckpoints(key, { from: 0, to: result.seq })));
  const ended: CrashResult = {
    summary: withoutFolder(await summariseRun(store, tenant, result, script), folder),
    effects: effects.entries,
    calls: calls.entries,
    points: life.points,
    lost: before.filter((checksum) => !stored.has(checksum)),
  };
  await engine.close();
  await store.close();
  writeFileSync(join(folder, crashResultFile), JSON.stringify(ended));
}

/** Makes paths in the trial's folder relative, because each trial has its own folder. */
function withoutFolder(summary: RunSummary, folder: string): RunSummary {
  const { state, outside } = summary;
  const withoutPath = (text: string): string => text.replaceAll(folder, '.');
  return { ...summary, state: withoutPath(state), ...(outside === undefined ? {} : { outside: withoutPath(outside) }) };
}

function openMachineEngine(store: Store, blobs: BlobStore, models: Models | undefined): Engine {
  return createEngine({
    store,
    ...(models === undefined ? {} : { models }),
    blobs,
    clock: systemClock,
    ids: createSystemIds(),
  });
}

function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}

export interface CrashProcessesOptions {
  /** Path of a script that calls {@link runCrashScript}. */
  readonly script: string;
  /** An empty folder. Each trial gets a folder in it, which is removed if no fault was found. */
  readonly folder: string;
  /** The most processes at the same time. Default 2. */
  readonly concurrency?: number;
  /** Chooses the points to try. Default: all. */
  readonly choose?: (points: readonly CrashPoint[]) => readonly CrashPoint[];
  readonly isScheduleFree?: boolean;
  /** Whether the run is meant to end as failed or cancelled when nothing kills it. Default false. */
  readonly mayFail?: boolean;
}

const optionNames = Object.keys({
  script: true,
  folder: true,
  concurrency: true,
  choose: true,
  isScheduleFree: true,
  mayFail: true,
} satisfies Record<keyof CrashProcessesOptions, true>);

/**
 * Runs a script to its end once, then kills it at every point that it passed, and resumes it in a new process. Steps that end together
 * share a checkpoint, so a late point may not be reached in every process. Such a trial must end like the run without a crash, and is
 * counted as missed.
 */
export async function crashProcesses(options: CrashProcessesOptions): Promise<CrashReport> {
  refuseUnknownKeys('crashProcesses', options, optionNames);
  const { folder, concurrency = 2, choose = (points) => points } = options;
  const quiet = join(folder, 'quiet');
  const end = await runScript(options.script, { folder: made(quiet) });
  const expected = readResult(quiet);
  if (expected === undefined) throw new Error(`${options.script} does not end even without a crash: ${end.errors}`);
  const { points } = expected;
  const fault = findQuietFault(expected.summary, options.mayFail);
  if (fault !== undefined) return { points: points.length, trials: 0, faults: [{ points: [], faults: [fault] }] };
  const queue = [...choose(points)];
  const trials = queue.length;
  const workers = Array.from({ length: concurrency }, () => new TrialWorker(options, expected, queue));
  await Promise.all(workers.map((worker) => worker.work()));
  const missed = workers.reduce((total, worker) => total + worker.missed, 0);
  return { points: points.length, trials, missed, faults: workers.flatMap((worker) => worker.faults) };
}

interface Trial {
  readonly point: CrashPoint;
  readonly folder: string;
}

/**
 * Makes one trial after another. Each new process first finishes the run of the killed process before it, which saves starting a process.
 */
class TrialWorker {
  readonly faults: CrashFault[] = [];
  missed = 0;
  readonly #options: CrashProcessesOptions;
  readonly #expected: CrashResult;
  readonly #queue: CrashPoint[];

  constructor(options: CrashProcessesOptions, expected: CrashResult, queue: CrashPoint[]) {
    this.#options = options;
    this.#expected = expected;
    this.#queue = queue;
  }

  async work(): Promise<void> {
    let killed: Trial | undefined;
    for (;;) {
      const point = this.#queue.shift();
      if (point !== undefined) killed = await this.#crash(point, killed);
      else if (killed === undefined) return;
      else killed = this.#judge(killed, 1, await runScript(this.#options.script, { folder: killed.folder }));
    }
  }

  /** @returns the trial, if its process was killed */
  async #crash(point: CrashPoint, before: Trial | undefined): Promise<Trial | undefined> {
    const folder = made(join(this.#options.folder, `${point.when}-${point.kind}-${point.number}`));
    const finish = before === undefined ? {} : { finish: before.folder };
    const end = await runScript(this.#options.script, { folder, point, ...finish });
    if (before !== undefined) {
      const isOver = readResult(before.folder) !== undefined;
      this.#judge(before, 1, end);
      // The process ended before it began its own trial, so another process makes that trial.
      if (!isOver) return this.#crash(point, undefined);
    }
    if (end.signal === 'SIGKILL') return { point, folder };
    this.missed += 1;
    return this.#judge({ point, folder }, 0, end);
  }

  /** Compares a finished trial with the run that was never killed. */
  #judge({ point, folder }: Trial, crashes: number, end: ScriptEnd): undefined {
    const result = readResult(folder);
    const faults =
      result === undefined
        ? [
            `the resumed process ended with ${end.code ?? end.signal}: ${end.errors}; expected: the run ends, ${this.#expected.summary.status}`,
          ]
        : [
            ...result.lost.map(
              (checksum) => `checkpoint ${checksum} did not stay as it was; expected: what is committed stays`,
            ),
            ...compareTrials(this.#options.isScheduleFree ?? true, crashes, this.#expected, result),
          ];
    if (faults.length === 0) rmSync(folder, { recursive: true });
    else this.faults.push({ points: [point], faults });
  }
}

function made(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

function readResult(folder: string): CrashResult | undefined {
  const path = join(folder, crashResultFile);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as CrashResult) : undefined;
}

interface ScriptEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly errors: string;
}

function runScript(script: string, orders: CrashOrders): Promise<ScriptEnd> {
  return new Promise((resolve, reject) => {
    // Share compiled modules, since every process loads the same ones.
    const cache = { NODE_COMPILE_CACHE: join(orders.folder, '..', 'compiled') };
    const env = { ...cache, ...process.env, [crashOrdersVariable]: JSON.stringify(orders) };
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.on('data', (bytes: Buffer) => {
      errors += bytes.toString();
    });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, errors: errors.slice(-2_000) }));
  });
}
