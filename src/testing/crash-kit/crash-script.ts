/** The child's side of a real crash: a script that starts a run, and is killed with SIGKILL on the way. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../app/process/system-clock.ts';
import { createSystemIds } from '../../app/process/system-ids.ts';
import { createFileBlobs } from '../../blobs/file-blobs.ts';
import type { Engine } from '../../engine/api.ts';
import { createEngine } from '../../engine/engine.ts';
import type { Graph } from '../../graph/graph.ts';
import type { Models } from '../../ports/model.ts';
import type { Store } from '../../ports/store.ts';
import { driveRun } from './drive-run.ts';
import { Life, mortalOracle, type CrashPoint } from './process-life.ts';
import type { TrialEnd } from './compare-trials.ts';
import { caseNames, type CrashCase } from './crash-case.ts';
import { mortalStore } from './mortal-store.ts';
import { checksumsOf, summariseRun, type RunSummary } from './run-summary.ts';
import { openEffectJournal } from './effect-oracle.ts';
import { watchGraph } from './watch-graph.ts';
import { WorkUnderWay } from './work-under-way.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

/** Environment variable with which {@link crashProcesses} passes orders to a script. */
export const crashOrdersVariable = 'CAIRN_CRASH';

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

export const crashResultFile = 'result.json';

export interface CrashScript extends CrashCase {
  /** Called with a trial's folder before anything else. One process may finish one trial and then begin another. */
  readonly enter?: (folder: string) => void | Promise<void>;
  /** Opens the store of a trial. */
  readonly openStore: (folder: string) => Store | Promise<Store>;
  /**
   * Opens an engine over the given store, with ids that know which processes are dead. Default: an engine with the system's clock and ids,
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
  const { openEngine = (of, at) => openMachineEngine(of, at, script.models?.(own)) } = script;
  const engine = openEngine(mortalStore(store, life), folder, (found) => watchGraph(found, watch));
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
  const kept = new Set(checksumsOf(await store.readCheckpoints(key, { from: 0, to: result.seq })));
  const left: CrashResult = {
    summary: withoutFolder(await summariseRun(store, tenant, result, script), folder),
    effects: effects.entries,
    calls: calls.entries,
    points: life.points,
    lost: before.filter((checksum) => !kept.has(checksum)),
  };
  await engine.close();
  await store.close();
  writeFileSync(join(folder, crashResultFile), JSON.stringify(left));
}

/** Makes paths in the trial's folder relative, because each trial has its own folder. */
function withoutFolder(summary: RunSummary, folder: string): RunSummary {
  const { state, outside } = summary;
  const told = (text: string): string => text.replaceAll(folder, '.');
  return { ...summary, state: told(state), ...(outside === undefined ? {} : { outside: told(outside) }) };
}

function openMachineEngine(store: Store, folder: string, models: Models | undefined): Engine {
  return createEngine({
    store,
    ...(models === undefined ? {} : { models }),
    blobs: createFileBlobs(join(folder, 'blobs')),
    clock: systemClock,
    ids: createSystemIds(),
  });
}

function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}
