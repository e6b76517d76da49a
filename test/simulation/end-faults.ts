/** What must hold when a simulation's run and its forks have ended (R7, R9 to R11). */
import { readHistory } from '../../src/history/load/load.ts';
import { compareTrials, stateText, summariseRun } from '../../src/testing/crash-kit/compare-trials.ts';
import { type EffectEntry, findEffectFaults } from '../../src/testing/crash-kit/find-effect-faults.ts';
import type { CrashTrial } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { undoPlace } from '../random-graph/random-graph.ts';
import type { RandomGraphPlan } from '../random-graph/plan-random-graph.ts';
import type { StoreWitness, Stored } from './witness.ts';
import { openProcess, type SimulationWorld } from './worker.ts';

export interface EndedSimulation {
  readonly world: SimulationWorld;
  readonly witness: StoreWitness;
  /** The run without any fault. */
  readonly expected: CrashTrial;
  readonly plan: RandomGraphPlan;
  readonly runId: string;
  readonly forks: readonly string[];
  /** How many effects had arrived when the first fork began. */
  readonly effectsBeforeForks: number;
  readonly wasToBeCancelled: boolean;
}

/** The faults, one sentence each. Whoever still believes to own a run is given the time to write first: that must be refused. */
export async function endFaults(ended: EndedSimulation): Promise<readonly string[]> {
  const { world, witness, expected, plan, runId, forks } = ended;
  const { time, oracle, tenant } = world;
  await time.run(time.sleep(60_000));
  const { engine } = openProcess(world, 'inspector', createSeededRandom(1));
  const result = await time.run(engine.inspect(runId));
  const faults = await openWaitFaults(world, [runId, ...forks]);
  for (const id of [runId, ...forks]) faults.push(...(await eventFaults(world, id)));
  if (ended.wasToBeCancelled && result.status === 'cancelled')
    return [...faults, ...undoFaults(oracle.entries), ...findEffectFaults(oracle.entries, undefined, Infinity)];
  const summary = await summariseRun(witness.store, tenant, result);
  // What forks did counts, too: nothing that the run did not do.
  const effects = plan.isScheduleFree ? oracle.entries : apartByFork(oracle.entries, ended);
  const forkFaults: string[] = [];
  for (const fork of forks) forkFaults.push(...(await faultsOfFork(ended, fork)));
  return [
    ...faults,
    ...compareTrials(plan.isScheduleFree, Infinity, expected, { summary, effects }),
    ...storedFaults(witness.storedOf(runId), expected),
    ...forkFaults,
  ];
}

/** What follows a cancel has happened when the run is cancelled, whoever died in between (E7.4). */
function undoFaults(entries: readonly EffectEntry[]): readonly string[] {
  const isDone = entries.some(({ place, isBegun }) => place === undoPlace && isBegun !== true);
  return isDone ? [] : ['the run was cancelled, and what follows a cancel did not happen'];
}

/**
 * A run that fails has not done all that it might have: what is left differs from schedule to schedule. An effect that it never began is
 * new in each of its forks, under a key of its own there (X1.2), so each such key counts as a place. One that it began and left in doubt is
 * asked about in each fork; asked side by side, the client may say `run again` in several, which is no repetition in silence.
 */
function apartByFork(
  entries: readonly EffectEntry[],
  { effectsBeforeForks, forks }: EndedSimulation,
): readonly EffectEntry[] {
  const known = new Set(entries.slice(0, effectsBeforeForks).map(({ place }) => place));
  return entries.map((entry) => {
    if (known.has(entry.place)) return entry;
    const promise = forks.length > 1 ? 'repeatable' : entry.promise;
    return { ...entry, promise, place: `${entry.place} ${entry.key}` };
  });
}

/** A fork ends as the run did; its history tells of itself only (R11). */
async function faultsOfFork({ world, expected, plan }: EndedSimulation, runId: string): Promise<readonly string[]> {
  const { engine } = openProcess(world, `inspector of ${runId}`, createSeededRandom(1));
  const result = await world.time.run(engine.inspect(runId));
  const { status } = expected.summary;
  if (result.status !== status)
    return [`${runId} is ${result.status} (${result.error?.message ?? 'no error'}); expected: ${status}`];
  const [state, wanted] = [stateText(result), expected.summary.state];
  return !plan.isScheduleFree || state === wanted ? [] : [`${runId} has the state ${state}; expected: ${wanted}`];
}

/** A composed node tells a recorded event after each of its parts: once an attempt, however often its function was repeated (E11). */
async function eventFaults({ store, tenant }: SimulationWorld, runId: string): Promise<readonly string[]> {
  const run = await store.readRun({ tenant, runId });
  if (run === undefined) return [];
  const told = new Set<string>();
  const faults: string[] = [];
  for await (const { checkpoint } of readHistory(store, run, { from: 0, to: run.head }))
    for (const { kind, node, visit, outer, attempt, detail } of checkpoint.change) {
      if (kind !== 'event') continue;
      const event = JSON.stringify([node, visit, outer, attempt, (detail as { readonly index: number }).index]);
      if (told.has(event)) faults.push(`${runId} tells the event ${event} a second time, at ${checkpoint.seq}`);
      told.add(event);
    }
  return faults;
}

async function openWaitFaults({ store, tenant }: SimulationWorld, runs: readonly string[]): Promise<string[]> {
  const faults: string[] = [];
  for (const runId of runs) {
    const { rows } = await store.listWaits({ tenant, runId });
    faults.push(...rows.map(({ waitId }) => `wait ${waitId} of ${runId} is open though the run has ended`));
  }
  return faults;
}

/** Where runs stand that do not end. */
export async function whereIs({ store, tenant }: SimulationWorld, runs: readonly string[]): Promise<string> {
  const places = runs.map(async (runId) => {
    const run = await store.readRun({ tenant, runId });
    const { rows } = await store.listWaits({ tenant, runId });
    const waits = rows.map(({ kind, waitId, body }) => `${kind} ${waitId} ${Buffer.from(body).toString()}`);
    const { status, head, claim, hasMessages, parent } = run ?? {};
    return { runId, status, head, claim, hasMessages, parent, waits };
  });
  return JSON.stringify(await Promise.all(places));
}

/** What may be stored beyond what a quiet run stores: the checkpoints and the questions that faults made necessary, each small (P3). */
const extraBytesMost = 4_096;
const waitBytesMost = 1_024;

function storedFaults(stored: Stored, expected: CrashTrial): readonly string[] {
  const extra = Math.max(0, stored.checkpoints - expected.checkpoints);
  const boundBytes = 2 * expected.bytes + extraBytesMost * (extra + 2) + waitBytesMost * stored.waits;
  return stored.bytes > boundBytes ? [`${stored.bytes} bytes are stored, over ${boundBytes}`] : [];
}
