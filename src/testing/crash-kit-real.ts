/** The crash kit with real processes: each point is a process that kills itself with SIGKILL, and a new one that resumes (P1, P2). */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { compareTrials } from './crash-kit.ts';
import type { CrashFault, CrashReport } from './crash-kit.ts';
import type { CrashPoint } from './crash-kit-process.ts';
import { crashOrdersVariable, crashResultFile } from './crash-kit-script.ts';
import type { CrashOrders, CrashResult } from './crash-kit-script.ts';

export interface CrashProcessesOptions {
  /** Path of a script that calls {@link runCrashScript}. */
  readonly script: string;
  /** An empty folder; each trial gets one of its own in it, removed if nothing was wrong. */
  readonly folder: string;
  /** Processes at once. Default 2. */
  readonly concurrency?: number;
  /** Which points to try. Default: all. */
  readonly choose?: (points: readonly CrashPoint[]) => readonly CrashPoint[];
  readonly isScheduleFree?: boolean;
}

/**
 * Runs a script to its end once, then kills it at every point it passed and resumes it in a new process.
 * Steps that end together share a checkpoint, so a late point may not come in every process: such a trial must end as the quiet one did,
 * and is counted as missed.
 */
export async function crashProcesses(options: CrashProcessesOptions): Promise<CrashReport> {
  const { folder, concurrency = 2, choose = (points) => points } = options;
  const quiet = join(folder, 'quiet');
  const end = await runScript(options.script, { folder: made(quiet) });
  const expected = readResult(quiet);
  if (expected === undefined) throw new Error(`${options.script} does not end even without a crash: ${end.errors}`);
  const points = (['write', 'effect'] as const).flatMap((kind) =>
    Array.from({ length: expected.counts[kind] }, (_, index) => index + 1).flatMap((number) =>
      (['before', 'after'] as const).map((when): CrashPoint => ({ kind, number, when })),
    ),
  );
  const queue = [...choose(points)];
  const trials = queue.length;
  const faults: CrashFault[] = [];
  let missed = 0;
  const work = async (): Promise<void> => {
    for (let point = queue.shift(); point !== undefined; point = queue.shift()) {
      const { faults: found, isMissed } = await tryPoint(options, point, expected);
      if (isMissed) missed += 1;
      if (found.length > 0) faults.push({ points: [point], faults: found });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return { points: points.length, trials, missed, faults };
}

interface Trial {
  readonly faults: readonly string[];
  readonly isMissed: boolean;
}

async function tryPoint(options: CrashProcessesOptions, point: CrashPoint, expected: CrashResult): Promise<Trial> {
  const own = made(join(options.folder, `${point.when}-${point.kind}-${point.number}`));
  const first = await runScript(options.script, { folder: own, point });
  const isMissed = first.signal !== 'SIGKILL';
  const last = isMissed ? first : await runScript(options.script, { folder: own });
  const result = readResult(own);
  if (result === undefined || last.code !== 0) {
    return { isMissed, faults: [`the process ended with ${last.code ?? last.signal}: ${last.errors}`] };
  }
  const lost = result.lost.map((checksum) => `checkpoint ${checksum} did not stay as it was`);
  const faults = [...lost, ...compareTrials(options.isScheduleFree ?? true, isMissed ? 0 : 1, expected, result)];
  if (faults.length === 0) rmSync(own, { recursive: true });
  return { isMissed, faults };
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
    // Every process loads the same modules: the second finds them compiled.
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
