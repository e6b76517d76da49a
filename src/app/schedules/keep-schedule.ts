/** Opens, finds and ends schedules by name, and tells them what to do. */
import type { Graph } from '../../graph/graph.ts';
import { webhookFaults, type Webhook } from '../../graph/webhooks.ts';
import { CairnError } from '../../errors.ts';
import type { Engine, RunMeta } from '../../engine/api.ts';
import { newFrame } from '../../engine/validate/new-frame.ts';
import { defaultBounds } from '../../engine/bounds.ts';
import { loadState } from '../../history/load/load.ts';
import { derivedRunId, isOfOrigin } from '../../history/stored/run-ids.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import { pausedSince } from '../../operations/runs/schedules.ts';
import type { RunRow } from '../../ports/store.ts';
import { overlaps, type Overlap } from './overlap.ts';
import {
  backfillMax,
  dueRunId,
  type MissedPolicy,
  overlapOf,
  type ScheduleCommand,
  type ScheduledRuns,
  scheduleGraph,
  type ScheduleSettings,
  scheduleSignal,
  stampOf,
  timesOf,
  triggeredRunId,
} from './schedule-run.ts';

const missedPolicies: readonly MissedPolicy[] = ['skip', 'last', 'all'];

/**
 * Whether the run of a time was started and removed since, or a version that derived other ids started it, before its schedule could record
 * that. No caller can make such a run: none gives a due time.
 */
export async function wasStartedEarlier({ ports }: Engine, name: string, dueMs: number): Promise<boolean> {
  const removed = await ports.store.removals?.read({ tenant: ports.tenant, runId: dueRunId(name, dueMs) });
  if (removed !== undefined) return true;
  const run = await ports.store.readRun({ tenant: ports.tenant, runId: `${name}.${stampOf(dueMs)}` });
  if (run === undefined || run.schedule.dueAt !== dueMs) return false;
  const { labels, isImported } = metaOf(run);
  return labels?.['schedule'] === name && isImported !== true;
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
  /** What the ends and questions of the runs that it starts are told to, beside what their graph says. */
  readonly webhooks?: readonly Webhook[];
  /**
   * What to do about a due time while a run of the schedule goes on: leave it out (`skip`, the default), begin when that has ended (`queue`),
   * cancel that first (`cancel-previous`), or begin (`allow`, the default with `missed: 'all'`).
   */
  readonly overlap?: Overlap;
  /** Runs begin up to this much later than they are due, in ms, so that many schedules of one time do not begin at once. Default 0. */
  readonly jitterMs?: number;
  /** The last moment at which a time counts: a date. Default: none. */
  readonly endsAt?: Date;
}

/** The most schedules with one name, one after another. */
const generationsMax = 10_000;

const dayMs = 86_400_000;

/** Validates the options. @throws CONFIG_INVALID an option is invalid; INPUT_INVALID the graph would refuse the input each time */
export async function readSettings(graph: Graph, options: ScheduleOptions): Promise<ScheduleSettings> {
  const { cron, timezone = 'UTC', input = {}, name = graph.id, missed = 'last', limit = 100 } = options;
  const { overlap, jitterMs = 0, endsAt, webhooks = [] } = options;
  if (!/^[\w-]{1,100}$/.test(name))
    throw invalid('name', `${JSON.stringify(name)} is not made of letters, digits, _ and -`);
  if (!missedPolicies.includes(missed)) throw invalid('missed', `it is one of ${missedPolicies.join(', ')}`);
  if (!(Number.isSafeInteger(limit) && limit >= 1 && limit <= 1000))
    throw invalid('limit', 'it is a whole number from 1 to 1,000');
  if (overlap !== undefined) checkOverlap(overlap);
  if (!(Number.isSafeInteger(jitterMs) && jitterMs >= 0 && jitterMs <= dayMs))
    throw invalid('jitterMs', 'it is a whole number of ms, up to a day');
  if (endsAt !== undefined && !(endsAt instanceof Date && Number.isFinite(endsAt.getTime())))
    throw invalid('endsAt', 'it is a date');
  const faults = webhookFaults(webhooks);
  if (faults.length > 0) throw invalid('webhooks', faults.join('; '));
  // Of a schedule without any of these, the settings are what they always were.
  const more = {
    ...(webhooks.length > 0 && { webhooks }),
    ...(overlap !== undefined && overlap !== overlapOf({ missed }) && { overlap }),
    ...(jitterMs > 0 && { jitterMs }),
    ...(endsAt !== undefined && { endsAt: endsAt.getTime() }),
  };
  timesOf({ cron, timezone, ...more });
  await newFrame(graph, input, defaultBounds, undefined);
  return { name, cron, timezone, missed, limit, input, ...more };
}

function checkOverlap(overlap: Overlap): void {
  if (!overlaps.includes(overlap)) throw invalid('overlap', `it is one of ${overlaps.join(', ')}`);
}

function invalid(path: string, reason: string): CairnError {
  return new CairnError('CONFIG_INVALID', { path, reason });
}

export interface OpenedSchedule {
  readonly runId: string;
  /** False if the schedule existed already, with the same settings. */
  readonly created: boolean;
  /** What is other than before, if it took the place of one with other settings: by name, before and after. */
  readonly changes?: SettingChanges;
}

/** Settings that are other ones than before. One that is absent has its default. */
export type SettingChanges = Readonly<Record<string, { readonly before?: unknown; readonly after?: unknown }>>;

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
    // The id of one that was removed is not used again.
    if (run === undefined && (await store.removals?.read({ tenant, runId })) !== undefined) continue;
    if (run === undefined) return { runId, isFirst: generation === 1 };
    if (!isOver(run) && isOfOrigin(run, 'schedule')) return { runId, isFirst: false, run };
  }
  throw invalid('name', `there were ${generationsMax} schedules of the name ${name}`);
}

const noRuns: ScheduledRuns = { start: async () => {}, open: async () => [], cancel: async () => {} };

/** Whether a run has the graph of schedules, and not one that a caller called so. */
function isScheduleGraph({ graphId, graphHash }: RunRow): boolean {
  return scheduleGraph(graphId, noRuns).hash === graphHash;
}

export interface OpenOptions {
  readonly meta?: RunMeta;
  /** Whether to end and replace a schedule with this name and other settings. */
  readonly replaces?: boolean;
  /** Whether a person says the settings, so that those which never come again are a mistake also where they replace others. */
  readonly isByHand?: boolean;
}

/**
 * Records the run of a schedule. Opening it twice with the same settings gives the same schedule, also from two processes at once.
 * @throws CONFIG_INVALID there is a schedule with this name and other settings
 */
export async function openSchedule(
  engine: Engine,
  graph: Graph,
  settings: ScheduleSettings,
  { meta, replaces = false, isByHand = false }: OpenOptions = {},
): Promise<OpenedSchedule> {
  let replaced: Replaced | undefined;
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
      if (replaced === undefined) return { runId, created };
      if (replaced.pausedAt !== undefined) await sendCommand(engine, runId, { do: 'pause', at: replaced.pausedAt });
      return { runId, created, changes: changesOf(replaced.settings, settings) };
    } catch (error) {
      if (!CairnError.is(error, 'RUN_EXISTS')) throw error;
      if (!replaces || run === undefined)
        throw invalid(
          'name',
          `there is a schedule ${settings.name} with other settings: end or replace it, or take another name`,
        );
      if (isByHand) refuseIfPast(settings, engine.ports.clock.now());
      replaced ??= await standingOf(engine, run);
      await engine.cancel(runId);
      await ended(engine, runId);
    }
  }
}

/** What is kept of a schedule that another one takes the place of. */
interface Replaced {
  readonly settings: ScheduleSettings;
  readonly pausedAt?: number;
}

async function standingOf({ ports }: Engine, run: RunRow): Promise<Replaced> {
  const { root } = await loadState(ports.store, ports.blobs, run);
  const pausedAt = await pausedSince(ports, run, root);
  return { settings: root.frame.input as ScheduleSettings, ...(pausedAt !== undefined && { pausedAt }) };
}

function changesOf(before: object, after: object): SettingChanges {
  const [old, now] = [before, after] as Readonly<Record<string, unknown>>[];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((name) => JSON.stringify(old?.[name]) !== JSON.stringify(now?.[name]));
  return Object.fromEntries(changed.map((name) => [name, { before: old?.[name], after: now?.[name] }]));
}

/** Sends a command to the schedule whose run this is. @throws RUN_NOT_FOUND there is none */
async function sendCommand(engine: Engine, runId: string, command: ScheduleCommand, by?: string): Promise<void> {
  await engine.signal(runId, scheduleSignal, command, by === undefined ? {} : { by });
}

async function requireSchedule(engine: Engine, name: string): Promise<RunRow> {
  const { run } = await findGeneration(engine, name);
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: `of a schedule ${name}` });
  return run;
}

/** Who sends a command. */
export interface Requester {
  readonly by?: string;
}

/** Pauses a schedule, or lets it go on. @returns the id of its run. @throws RUN_NOT_FOUND */
export async function setSchedulePaused(
  engine: Engine,
  name: string,
  isPaused: boolean,
  { by }: Requester = {},
): Promise<string> {
  const { runId } = await requireSchedule(engine, name);
  await sendCommand(engine, runId, { do: isPaused ? 'pause' : 'resume', at: engine.ports.clock.now() }, by);
  return runId;
}

export interface RequestedRuns {
  /** The run of the schedule. */
  readonly runId: string;
  /** Ids of the runs that it starts. */
  readonly starts: readonly string[];
}

/** Has a schedule start a run now. @param id - what tells it from others. @throws RUN_NOT_FOUND, CONFIG_INVALID */
export async function triggerSchedule(
  engine: Engine,
  name: string,
  { id, overlap, by }: Requester & { readonly id: string; readonly overlap?: Overlap },
): Promise<RequestedRuns> {
  if (overlap !== undefined) checkOverlap(overlap);
  const { runId } = await requireSchedule(engine, name);
  const at = engine.ports.clock.now();
  await sendCommand(engine, runId, { do: 'trigger', id, at, ...(overlap !== undefined && { overlap }) }, by);
  return { runId, starts: [triggeredRunId(name, id)] };
}

/**
 * Has a schedule start the runs of its times in a span, each once, whether or not it has met them. @param span - epoch ms, both ends included
 * @throws RUN_NOT_FOUND; CONFIG_INVALID there are no such times, or over 1,000
 */
export async function backfillSchedule(
  engine: Engine,
  name: string,
  { from, to, overlap, by }: Requester & { readonly from: number; readonly to: number; readonly overlap?: Overlap },
): Promise<RequestedRuns> {
  if (overlap !== undefined) checkOverlap(overlap);
  const run = await requireSchedule(engine, name);
  const { settings } = await standingOf(engine, run);
  const times = timesOf(settings).between(from - 1, Math.min(to, engine.ports.clock.now()), backfillMax + 1);
  if (times.length === 0) throw invalid('from', 'the schedule has no time that has passed in this span');
  if (times.length > backfillMax) throw invalid('from', `there are more than ${backfillMax} times in this span`);
  const [first = from, last = to] = [times[0], times.at(-1)];
  await sendCommand(
    engine,
    run.runId,
    { do: 'backfill', from: first, to: last, ...(overlap !== undefined && { overlap }) },
    by,
  );
  return { runId: run.runId, starts: times.map((at) => dueRunId(name, at)) };
}

/** What the runs of a schedule are to the engine of its graph. */
export function runsOf(engineOf: () => Engine, start: ScheduledRuns['start']): ScheduledRuns {
  return {
    start,
    async open(name) {
      const { store, tenant } = engineOf().ports;
      const status = ['running', 'paused', 'cancelling'] as const;
      const { rows } = await store.listRuns({ tenant, status, labels: { schedule: name }, limit: openMax });
      return rows.map(({ runId }) => runId);
    },
    cancel: (runId) => engineOf().cancel(runId, { reason: 'the next run of its schedule takes its place' }),
  };
}

/** More runs of a schedule than go on at once. */
const openMax = 100;

/** @throws CONFIG_INVALID each year that the expression names is over, or it ends before its next time */
function refuseIfPast(settings: ScheduleSettings, now: number): void {
  const { cron, timezone, endsAt } = settings;
  if (timesOf(settings).next(now) !== undefined) return;
  const next = timesOf({ cron, timezone }).next(now);
  if (endsAt === undefined || next === undefined)
    throw invalid('cron', `${JSON.stringify(cron)} never comes again: its last time has passed`);
  const times = [endsAt, next].map((at) => new Date(at).toISOString());
  throw invalid('endsAt', `it is ${times[0]}, and the next time of ${JSON.stringify(cron)} is ${times[1]}`);
}

/** Ends a schedule. The runs that it started go on. @returns the id of its run. @throws RUN_NOT_FOUND there is none with this name */
export async function endSchedule(engine: Engine, name: string): Promise<string> {
  const { runId } = await requireSchedule(engine, name);
  await engine.cancel(runId);
  return runId;
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
