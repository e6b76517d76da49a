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
 * A fault of kind "was not killed" says that the point did not come: the script is not the same each time.
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
  const work = async (): Promise<void> => {
    for (let point = queue.shift(); point !== undefined; point = queue.shift()) {
      const found = await faultsAt(options, point, expected);
      if (found.length > 0) faults.push({ points: [point], faults: found });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return { points: points.length, trials, faults };
}

async function faultsAt(
  { script, folder, isScheduleFree = true }: CrashProcessesOptions,
  point: CrashPoint,
  expected: CrashResult,
): Promise<readonly string[]> {
  const own = made(join(folder, `${point.when}-${point.kind}-${point.number}`));
  const killed = await runScript(script, { folder: own, point });
  if (killed.signal !== 'SIGKILL')
    return [`the process was not killed, but ended with ${killed.code}: ${killed.errors}`];
  const resumed = await runScript(script, { folder: own });
  const result = readResult(own);
  if (result === undefined)
    return [`the resumed process ended with ${resumed.code ?? resumed.signal}: ${resumed.errors}`];
  const lost = result.lost.map((checksum) => `checkpoint ${checksum} did not stay as it was`);
  const faults = [...lost, ...compareTrials(isScheduleFree, 1, expected, result)];
  if (faults.length === 0) rmSync(own, { recursive: true });
  return faults;
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
