/** The child's side of a real crash: a script that brings a run as far as it lives, and is killed with SIGKILL on the way. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '../../engine/api.ts';
import type { Store } from '../../ports/store.ts';
import { driveRun } from './drive-run.ts';
import { Life, mortalOracle, type CrashPoint } from './process-life.ts';
import type { CrashCase } from './crash-everywhere.ts';
import { mortalStore } from './mortal-store.ts';
import { checksumsOf, summariseRun, type RunSummary } from './run-summary.ts';
import { openEffectJournal, type EffectEntry } from './effect-oracle.ts';

/** The environment variable by which {@link crashProcesses} tells a script its orders. */
export const crashOrdersVariable = 'CAIRN_CRASH';

export interface CrashOrders {
  /** Where this trial keeps its store and its journal of effects; empty at first. */
  readonly folder: string;
  readonly point?: CrashPoint;
  /** The folder of a trial whose process was killed: its run is brought to its end first. */
  readonly finish?: string;
}

/** What a script that was not killed leaves in its folder. */
export interface CrashResult {
  readonly summary: RunSummary;
  readonly effects: readonly EffectEntry[];
  readonly counts: Life['counts'];
  readonly lost: readonly string[];
}

export const crashResultFile = 'result.json';

export interface CrashScript extends CrashCase {
  /** Called with the folder of a trial before anything else: a process may bring one trial to its end and then begin another. */
  readonly enter?: (folder: string) => void | Promise<void>;
  /** Looks at what the ended run left outside; what it returns is compared. A trial for which it throws is a fault. */
  readonly inspect?: (result: CrashResult, folder: string) => CrashResult | Promise<CrashResult>;
  /** Opens the store of a trial. */
  readonly openStore: (folder: string) => Store | Promise<Store>;
  /** Opens an engine over the store it is given, with ids that know which processes have died. */
  readonly openEngine: (store: Store, folder: string) => Engine;
}

const runId = '01890000-0000-7000-8000-000000000001';
const tenant = 'default';

/**
 * The whole of a script given to {@link crashProcesses}: brings the run of a killed process to its end, then starts one of its own, and
 * is killed at the point ordered.
 * @throws INTERNAL the run does not end
 */
export async function runCrashScript(script: CrashScript): Promise<void> {
  // An engine's timers keep no process alive, and a run may have nothing else to wait for.
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
  const oracle = mortalOracle(openEffectJournal(join(folder, 'effects.jsonl')), life);
  const key = { tenant, runId };
  // What an earlier life committed must stay as it was.
  const before =
    (await store.readRun(key)) === undefined
      ? []
      : checksumsOf(await store.readCheckpoints(key, { from: 0, to: Number.MAX_SAFE_INTEGER }));
  const engine = script.openEngine(mortalStore(store, life), folder);
  const graph = script.graph({ oracle, sleep });
  const isThere = async (): Promise<boolean> => (await store.readRun(key)) !== undefined;
  const result = await driveRun({
    isThere,
    engine,
    graph,
    runId,
    input: script.input,
    users: script,
    oracle,
    sleep,
    now: Date.now,
  });
  const kept = new Set(checksumsOf(await store.readCheckpoints(key, { from: 0, to: result.seq })));
  const left: CrashResult = {
    summary: await summariseRun(store, tenant, result),
    effects: oracle.entries,
    counts: life.counts,
    lost: before.filter((checksum) => !kept.has(checksum)),
  };
  await engine.close();
  await store.close();
  const told = (await script.inspect?.(left, folder)) ?? left;
  writeFileSync(join(folder, crashResultFile), JSON.stringify(told));
}

function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}
