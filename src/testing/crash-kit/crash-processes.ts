/** The crash kit with real processes: at each point a process kills itself with SIGKILL, and a new one resumes the run (P1, P2). */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CrashFault, CrashReport } from './crash-case.ts';
import { compareTrials, findQuietFault } from './compare-trials.ts';
import type { CrashPoint } from './process-life.ts';
import { crashOrdersVariable, crashResultFile, type CrashOrders, type CrashResult } from './crash-script.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

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
