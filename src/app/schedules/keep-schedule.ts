/** Opens, finds and ends schedules by name. */
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import { END, START, type Graph } from '../../graph/graph.ts';
import type { RetryPolicy } from '../../graph/contracts/contracts.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { CairnError, reasonOf } from '../../errors.ts';
import { readCron, type CronTimes } from './cron-times.ts';
import type { Engine, RunMeta } from '../../engine/api.ts';
import { newFrame } from '../../engine/validate/new-frame.ts';
import { defaultLimits } from '../../engine/limits.ts';
import { derivedRunId, isOfOrigin } from '../../history/stored/run-ids.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import type { RunRow } from '../../ports/store.ts';

// The graph of schedules. A schedule is a run that sleeps until its next due time, starts a run, and sleeps again. So its past due times
// are its history, and any worker can advance it. The id of a started run is derived from the due time, so two workers, or a repetition
// after a crash, start the same run.

/** What to do about due times missed by more than a minute: start no run, one for the newest, or one for each of the newest `limit`. */
export type MissedPolicy = 'skip' | 'last' | 'all';

export const missedPolicies: readonly MissedPolicy[] = ['skip', 'last', 'all'];

/** The settings of a schedule, which are the input of its run. */
export interface ScheduleSettings {
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly missed: MissedPolicy;
  /** The most runs that `all` starts at once. */
  readonly limit: number;
  /** Input of the runs that are started. */
  readonly input: unknown;
}

/** What a schedule remembers from one due time to the next. */
export interface ScheduleStanding {
  /** Due times up to this one (epoch ms) have been handled. */
  readonly after: number;
  /** Ids of the runs started at the newest due time; empty if it was missed and skipped. */
  readonly started: readonly string[];
  /** Why no run was started at the newest due time. */
  readonly error?: string;
}

/** Starts the run for a due time, unless it exists already. */
export type StartDue = (settings: ScheduleSettings, runId: string, dueMs: number) => Promise<void>;

/** A time counts as missed after this delay. It is longer than the interval at which workers look for due runs. */
const lateMs = 60_000;
/**
 * A file that cannot be read now may be readable in a moment, but no grant comes in that time. A due time that fails does not hold up
 * others.
 */
const retry: RetryPolicy = { attempts: 4, delayMs: 1_000, when: ({ code }) => code !== 'PERMISSION_DENIED' };

/** A time as it stands in ids: `20261123T020000Z`. */
const stampOf = (dueMs: number): string => new Date(dueMs).toISOString().replace(/[-:]|\.\d+/g, '');

/** Id of the run that a schedule starts at a time: `cairn:due:nightly:20261123T020000Z`. */
export function dueRunId(name: string, dueMs: number): string {
  return derivedRunId('due', name, stampOf(dueMs));
}

/**
 * Whether a version that derived other ids started the run of a time, before its schedule could record that. No caller can make such a run:
 * none gives a due time.
 */
export async function wasStartedEarlier({ ports }: Engine, name: string, dueMs: number): Promise<boolean> {
  const run = await ports.store.readRun({ tenant: ports.tenant, runId: `${name}.${stampOf(dueMs)}` });
  if (run === undefined || run.schedule.dueAt !== dueMs) return false;
  const { labels, isImported } = metaOf(run);
  return labels?.['schedule'] === name && isImported !== true;
}

/** The due times that have passed and are to be started: those of just now, and older ones as the policy says. */
export function timesToStart(
  times: CronTimes,
  settings: ScheduleSettings,
  after: number,
  now: number,
): readonly number[] {
  const { missed, limit } = settings;
  const passed = times.between(after, now, limit);
  if (missed === 'all') return passed;
  const recent = passed.filter((time) => now - time <= lateMs);
  return missed === 'last' && recent.length === 0 ? passed.slice(-1) : recent;
}

/** Makes the graph of schedules that start runs with `start`. Its input is {@link ScheduleSettings}. */
export function scheduleGraph(id: string, start: StartDue): Graph {
  const run = (ctx: NodeContext): Promise<ScheduleStanding> => keepSchedule(ctx, start);
  return compileGraph({
    id,
    // A fixed text in place of the code, so that a schedule goes on under a newer version of this package.
    nodes: [{ id: 'schedule', type: 'schedule', effect: 'read', implementation: { run, codeText: 'schedule 1' } }],
    edges: [
      { from: START, to: 'schedule' },
      { from: 'schedule', to: END },
    ],
  });
}

/** Runs a schedule. It ends only if no due time remains. */
async function keepSchedule(ctx: NodeContext, start: StartDue): Promise<ScheduleStanding> {
  const settings = ctx.input as ScheduleSettings;
  const times = readCron(settings.cron, settings.timezone);
  // Times count from when the schedule was recorded, whenever a worker first comes to it.
  const began = async (): Promise<ScheduleStanding> => ({
    after: await ctx.step('begin', { effect: 'pure' }, () => ctx.startedAt),
    started: [],
  });
  let standing = (ctx.savedState as ScheduleStanding | undefined) ?? (await began());
  for (;;) {
    const { after } = standing;
    // Recorded, because the rules of time zones may change while the schedule sleeps.
    const dueMs = await ctx.step('next', { effect: 'pure' }, () => times.next(after) ?? null);
    if (dueMs === null) return standing;
    await ctx.sleepUntil(dueMs, 'until');
    standing = await meet(ctx, start, settings, times, standing);
    await ctx.save(standing);
  }
}

/** Starts the runs that are due now. */
async function meet(
  ctx: NodeContext,
  start: StartDue,
  settings: ScheduleSettings,
  times: CronTimes,
  { after }: ScheduleStanding,
): Promise<ScheduleStanding> {
  // The clock is read once, so that what is marked as handled is exactly what was considered.
  const now = await ctx.step('now', { effect: 'pure' }, () => ctx.now());
  const due = timesToStart(times, settings, after, now);
  const started = due.map((time) => dueRunId(settings.name, time));
  const done = { after: times.between(after, now, 1)[0] ?? after, started };
  try {
    // Class `read`, although it starts runs: starting a run again under its id has no effect.
    await ctx.step('start', { effect: 'read', retry }, async () => {
      for (const [index, time] of due.entries()) await startOnce(start, settings, started[index] as string, time);
    });
    return done;
  } catch (error) {
    // The attempt was stopped, not refused: whoever goes on with the schedule starts the runs.
    if (ctx.signal.aborted) throw error;
    return { ...done, started: [], error: reasonOf(error) };
  }
}

/**
 * Starts a run. If a worker started it under another graph and died before recording that, it counts as started; a run that no schedule
 * began does not.
 */
async function startOnce(start: StartDue, settings: ScheduleSettings, runId: string, dueMs: number): Promise<void> {
  try {
    await start(settings, runId, dueMs);
  } catch (error) {
    if (!CairnError.is(error, 'RUN_EXISTS') || error.data['difference'] === 'origin') throw error;
  }
}

/** Options of a schedule. @typeParam Input - what the graph takes */
export interface ScheduleOptions<Input = unknown> {
  /** Cron expression: five fields, or six with seconds first (`0 2 * * *`), or `@daily` and the like. */
  readonly cron: string;
  /** Time zone, an IANA name such as `Europe/Berlin`. Default `UTC`. */
  readonly timezone?: string;
  /** Input of each run that is started. */
  readonly input?: Input;
  /** Name of the schedule, with which the ids of its runs begin: letters, digits, `_` and `-`. Default: the graph's id. */
  readonly name?: string;
  /** What to do about due times that were missed by more than a minute. Default `last`: start a run for the newest of them. */
  readonly missed?: MissedPolicy;
  /** The most runs that `all` starts at once, for the newest times. Default 100. */
  readonly limit?: number;
}

/** The most schedules with one name, one after another. */
const generationsMax = 10_000;

/** Validates the options. @throws CONFIG_INVALID an option is invalid; INPUT_INVALID the graph would refuse the input each time */
export async function readSettings(graph: Graph, options: ScheduleOptions): Promise<ScheduleSettings> {
  const { cron, timezone = 'UTC', input = {}, name = graph.id, missed = 'last', limit = 100 } = options;
  if (!/^[\w-]{1,100}$/.test(name))
    throw invalid('name', `${JSON.stringify(name)} is not made of letters, digits, _ and -`);
  if (!missedPolicies.includes(missed)) throw invalid('missed', `it is one of ${missedPolicies.join(', ')}`);
  if (!(Number.isSafeInteger(limit) && limit >= 1 && limit <= 1000))
    throw invalid('limit', 'it is a whole number from 1 to 1,000');
  readCron(cron, timezone);
  await newFrame(graph, input, defaultLimits, undefined);
  return { name, cron, timezone, missed, limit, input };
}

function invalid(path: string, reason: string): CairnError {
  return new CairnError('CONFIG_INVALID', { path, reason });
}

export interface OpenedSchedule {
  readonly runId: string;
  /** False if the schedule existed already, with the same settings. */
  readonly created: boolean;
}

const runIdOf = (name: string, generation: number): string =>
  derivedRunId('schedule', name, ...(generation === 1 ? [] : [String(generation)]));

const isOver = ({ status }: RunRow): boolean => status === 'completed' || status === 'cancelled' || status === 'failed';

/** The place of a schedule: the id of its run, and the run if it is active. */
interface Generation {
  readonly runId: string;
  /** Whether no schedule had the name before. */
  readonly isFirst: boolean;
  readonly run?: RunRow;
  /** Set if it was opened by a version that derived other ids. */
  readonly isEarlier?: true;
}

/** The newest active schedule with this name. What was not opened as a schedule is none, whatever its id. */
async function findGeneration(engine: Engine, name: string): Promise<Generation> {
  const { store, tenant } = engine.ports;
  for (let generation = 1; generation <= generationsMax; generation += 1) {
    const runId = `${name}.schedule${generation === 1 ? '' : `.${generation}`}`;
    const run = await store.readRun({ tenant, runId });
    if (run === undefined || !isScheduleGraph(run)) break;
    if (!isOver(run)) return { runId, isFirst: false, run, isEarlier: true };
  }
  for (let generation = 1; generation <= generationsMax; generation += 1) {
    const runId = runIdOf(name, generation);
    const run = await store.readRun({ tenant, runId });
    if (run === undefined) return { runId, isFirst: generation === 1 };
    if (!isOver(run) && isOfOrigin(run, 'schedule')) return { runId, isFirst: false, run };
  }
  throw invalid('name', `there were ${generationsMax} schedules of the name ${name}`);
}

/** Whether a run has the graph of schedules, and not one that a caller called so. */
function isScheduleGraph({ graphId, graphHash }: RunRow): boolean {
  return scheduleGraph(graphId, async () => {}).hash === graphHash;
}

/**
 * Records the run of a schedule. Opening it twice with the same settings gives the same schedule, also from two processes at once.
 * @param replaces - whether to end and replace a schedule with this name and other settings
 * @throws CONFIG_INVALID there is a schedule with this name and other settings
 */
export async function openSchedule(
  engine: Engine,
  graph: Graph,
  settings: ScheduleSettings,
  { meta, replaces = false }: { readonly meta?: RunMeta; readonly replaces?: boolean } = {},
): Promise<OpenedSchedule> {
  for (;;) {
    const { runId, run, isFirst, isEarlier } = await findGeneration(engine, settings.name);
    // A schedule that is opened again at each start of a program may have met its last time.
    if (isFirst) refuseIfPast(settings, engine.ports.clock.now());
    try {
      const { created } = await engine.start(graph, settings, {
        runId,
        detach: true,
        ...(isEarlier !== true && { origin: 'schedule' }),
        ...(meta !== undefined && { meta }),
      });
      return { runId, created };
    } catch (error) {
      if (!CairnError.is(error, 'RUN_EXISTS')) throw error;
      if (!replaces || run === undefined)
        throw invalid(
          'name',
          `there is a schedule ${settings.name} with other settings: end or replace it, or take another name`,
        );
      await engine.cancel(runId);
      await ended(engine, runId);
    }
  }
}

/** @throws CONFIG_INVALID each year that the expression names is over */
function refuseIfPast({ cron, timezone }: ScheduleSettings, now: number): void {
  if (readCron(cron, timezone).next(now) === undefined)
    throw invalid('cron', `${JSON.stringify(cron)} never comes again: its last time has passed`);
}

/** Ends a schedule. The runs that it started go on. @returns the id of its run. @throws RUN_NOT_FOUND there is none with this name */
export async function endSchedule(engine: Engine, name: string): Promise<string> {
  const { run } = await findGeneration(engine, name);
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: `of a schedule ${name}` });
  await engine.cancel(run.runId);
  return run.runId;
}

/** Waits until the schedule has ended; a worker that holds its run ends it within a moment. */
async function ended({ ports }: Engine, runId: string): Promise<void> {
  const { store, tenant, clock } = ports;
  for (let looks = 0; looks < 100; looks += 1) {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined || isOver(run)) return;
    await new Promise<void>((resolve) => void clock.setTimer(100, resolve));
  }
  throw new CairnError('CLAIM_TAKEN', { runId, owner: 'a worker', remainingMs: 0 });
}
