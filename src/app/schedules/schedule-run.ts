/** The run of a schedule: it sleeps until its next due time, starts what is due, and heeds what it is told meanwhile (W7). */
import { hash } from 'node:crypto';
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import { END, START, type Graph } from '../../graph/graph.ts';
import type { Webhook } from '../../graph/webhooks.ts';
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { CairnError, reasonOf } from '../../errors.ts';
import { derivedRunId } from '../../history/stored/run-ids.ts';
import { readCron, type CronTimes } from './cron-times.ts';
import { decideOverlap, type Overlap, type WantedRun } from './overlap.ts';

// The graph of schedules. A schedule is a run that sleeps until its next due time, starts a run, and sleeps again. So its past due times
// are its history, and any worker can advance it. The id of a started run is derived from the due time, so two workers, or a repetition
// after a crash, start the same run.

/** What to do about due times missed by more than a minute: start no run, one for the newest, or one for each of the newest `limit`. */
export type MissedPolicy = 'skip' | 'last' | 'all';

/** The settings of a schedule, which are the input of its run. Those that have their default are left out, but for the first ones. */
export interface ScheduleSettings {
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly missed: MissedPolicy;
  /** The most runs that `all` starts at once. */
  readonly limit: number;
  /** Input of the runs that are started. */
  readonly input: unknown;
  readonly webhooks?: readonly Webhook[];
  /** Default: `skip`; with `missed: 'all'` it is `allow`. */
  readonly overlap?: Overlap;
  /** Runs begin up to this much later than they are due. */
  readonly jitterMs?: number;
  /** The last moment at which a time counts, in epoch ms. */
  readonly endsAt?: number;
}

export const overlapOf = ({ overlap, missed }: Pick<ScheduleSettings, 'overlap' | 'missed'>): Overlap =>
  overlap ?? (missed === 'all' ? 'allow' : 'skip');

/** What a schedule remembers from one due time to the next. */
export interface ScheduleStanding {
  /** Due times up to this one (epoch ms) have been handled. */
  readonly after: number;
  /** Ids of the runs started at the newest occasion; empty if none was. */
  readonly started: readonly string[];
  /** Why no run was started. */
  readonly error?: string;
  /** Due times of the newest occasion that were left out, in epoch ms, and why. */
  readonly skipped?: { readonly times: readonly number[]; readonly because: 'paused' | 'overlap' };
  /** Since when the schedule is paused, in epoch ms. */
  readonly pausedAt?: number;
  /** Runs that begin when those that go on have ended. */
  readonly waiting?: readonly WantedRun[];
  /** How often it was looked since whether they have. */
  readonly looks?: number;
}

/** What a schedule is told, as the value of a signal. */
export type ScheduleCommand =
  | { readonly do: 'pause' | 'resume'; readonly at: number }
  | { readonly do: 'trigger'; readonly id: string; readonly at: number; readonly overlap?: Overlap }
  | { readonly do: 'backfill'; readonly from: number; readonly to: number; readonly overlap?: Overlap };

/** The name of the signals that a schedule heeds. */
export const scheduleSignal = 'schedule';

/** The runs that a schedule starts. */
export interface ScheduledRuns {
  /** Starts the run for a due time, unless it exists already. @param delayMs - how much later it begins */
  start(settings: ScheduleSettings, runId: string, dueMs: number, delayMs: number): Promise<void>;
  /** Ids of those that have not ended. */
  open(name: string): Promise<readonly string[]>;
  cancel(runId: string): Promise<void>;
}

/** A time counts as missed after this delay. It is longer than the interval at which workers look for due runs. */
const lateMs = 60_000;
/**
 * A file that cannot be read now may be readable in a moment, but no grant comes in that time. A due time that fails does not hold up
 * others.
 */
const retry: RetryPolicy = { attempts: 4, delayMs: 1_000, when: ({ code }) => code !== 'PERMISSION_DENIED' };
/** The first and the longest pause between two looks whether the runs that go on have ended. */
const lookMs = 1_000;
const lookMsMax = 60_000;
/** The most times of a backfill. */
export const backfillMax = 1_000;

/** A time as it stands in ids: `20261123T020000Z`. */
export const stampOf = (dueMs: number): string => new Date(dueMs).toISOString().replace(/[-:]|\.\d+/g, '');

/** Id of the run that a schedule starts at a time: `cairn:due:nightly:20261123T020000Z`. */
export const dueRunId = (name: string, dueMs: number): string => derivedRunId('due', name, stampOf(dueMs));

/** Id of the run that a trigger starts: `cairn:due:nightly:by:ID`. */
export const triggeredRunId = (name: string, id: string): string => derivedRunId('due', name, 'by', id);

/** The due times of a schedule, up to its end. @throws CONFIG_INVALID */
export function timesOf({
  cron,
  timezone,
  endsAt = Infinity,
}: Pick<ScheduleSettings, 'cron' | 'timezone' | 'endsAt'>): CronTimes {
  const times = readCron(cron, timezone);
  return {
    next: (after) => {
      const next = times.next(after);
      return next === undefined || next > endsAt ? undefined : next;
    },
    between: (after, until, limit) => times.between(after, Math.min(until, endsAt), limit),
  };
}

/** The due times that have passed and are to be started: those of just now, and older ones as the policy says. */
function timesToStart(times: CronTimes, settings: ScheduleSettings, after: number, now: number): readonly number[] {
  const { missed, limit } = settings;
  const passed = times.between(after, now, limit);
  if (missed === 'all') return passed;
  const recent = passed.filter((time) => now - time <= lateMs);
  return missed === 'last' && recent.length === 0 ? passed.slice(-1) : recent;
}

/** How much later the run of a due time begins: another share of the jitter for each time, always the same one. */
function delayOf({ name, jitterMs = 0 }: ScheduleSettings, dueMs: number): number {
  if (jitterMs === 0) return 0;
  return Math.floor((Number.parseInt(hash('sha256', `${name} ${dueMs}`, 'hex').slice(0, 8), 16) / 2 ** 32) * jitterMs);
}

/** Makes the graph of schedules. Its input is {@link ScheduleSettings}. */
export function scheduleGraph(id: string, runs: ScheduledRuns): Graph {
  const run = (ctx: NodeContext): Promise<ScheduleStanding> => runSchedule(ctx, runs);
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
async function runSchedule(ctx: NodeContext, runs: ScheduledRuns): Promise<ScheduleStanding> {
  const settings = ctx.input as ScheduleSettings;
  const times = timesOf(settings);
  // Times count from when the schedule was recorded, whenever a worker first comes to it.
  const began = async (): Promise<ScheduleStanding> => {
    const after = await ctx.step('begin', { effect: 'pure' }, () => ctx.startedAt);
    return { after, started: [] };
  };
  let standing = (ctx.savedState as ScheduleStanding | undefined) ?? (await began());
  for (;;) {
    const { after, waiting = [], looks = 0 } = standing;
    // Recorded, because the rules of time zones may change while the schedule sleeps.
    const next = await ctx.step('next', { effect: 'pure' }, () => times.next(after) ?? null);
    if (next === null && waiting.length === 0) return standing;
    const command = await sleep(ctx, next, waiting.length === 0 ? undefined : looks);
    const occasion = new Occasion(ctx, runs, settings, times);
    standing = command === undefined ? await occasion.startDue(standing) : await occasion.apply(standing, command);
    await ctx.save(standing);
  }
}

/**
 * Sleeps until the next due time, or until it is looked again whether a run may begin. @param looks - how often that was; undefined: none
 * waits. @returns what the schedule was told; undefined: the time has come
 */
async function sleep(
  ctx: NodeContext,
  next: number | null,
  looks: number | undefined,
): Promise<ScheduleCommand | undefined> {
  const now = ctx.now();
  const lookAt = looks === undefined ? Infinity : now + Math.min(lookMsMax, lookMs * 2 ** looks);
  const wakeAt = Math.min(next ?? Infinity, lookAt);
  const command = await ctx.receive(scheduleSignal, { timeoutMs: Math.max(0, wakeAt - now), defaultValue: null });
  return (command as ScheduleCommand | null) ?? undefined;
}

/** One occasion of a schedule: its time has come, or it was told something. */
class Occasion {
  readonly #ctx: NodeContext;
  readonly #runs: ScheduledRuns;
  readonly #settings: ScheduleSettings;
  readonly #times: CronTimes;

  constructor(ctx: NodeContext, runs: ScheduledRuns, settings: ScheduleSettings, times: CronTimes) {
    this.#ctx = ctx;
    this.#runs = runs;
    this.#settings = settings;
    this.#times = times;
  }

  /** Starts the runs that are due now, and those that have waited. */
  async startDue(standing: ScheduleStanding): Promise<ScheduleStanding> {
    const ctx = this.#ctx;
    // The clock is read once, so that what is marked as handled is exactly what was considered.
    const now = await ctx.step('now', { effect: 'pure' }, () => ctx.now());
    const due = timesToStart(this.#times, this.#settings, standing.after, now);
    const next = { ...standing, after: this.#upTo(standing.after, now) };
    const overlap = overlapOf(this.#settings);
    const wanted = (overlap === 'cancel-previous' ? due.slice(-1) : due).map((at): WantedRun => {
      return { runId: dueRunId(this.#settings.name, at), at, overlap };
    });
    if (standing.pausedAt === undefined) return this.#begin(next, wanted);
    const paused = await this.#begin(next, []);
    return due.length === 0 ? paused : { ...paused, skipped: { times: due, because: 'paused' } };
  }

  async apply(standing: ScheduleStanding, command: ScheduleCommand): Promise<ScheduleStanding> {
    if (command.do === 'pause') return { ...standing, pausedAt: standing.pausedAt ?? command.at };
    if (command.do !== 'trigger' && command.do !== 'backfill') {
      const { pausedAt, ...rest } = standing;
      // What was due while it was paused is not started afterwards.
      return pausedAt === undefined ? rest : { ...rest, after: this.#upTo(standing.after, command.at) };
    }
    return this.#begin(standing, this.#requestedRuns(command));
  }

  /** The runs that a person asks for. */
  #requestedRuns(command: Extract<ScheduleCommand, { do: 'trigger' | 'backfill' }>): readonly WantedRun[] {
    const { name } = this.#settings;
    const { overlap = 'allow' } = command;
    if (command.do === 'trigger')
      return [{ runId: triggeredRunId(name, command.id), at: command.at, overlap, isAsked: true }];
    const times = this.#times.between(command.from - 1, command.to, backfillMax);
    return times.map((at) => ({ runId: dueRunId(name, at), at, overlap, isAsked: true }));
  }

  /** The newest due time up to now, after the last one that was handled. */
  #upTo(after: number, now: number): number {
    return this.#times.between(after, now, 1)[0] ?? after;
  }

  /** Starts what may be started of what waited and what is wanted now, and says what became of the rest. */
  async #begin(standing: ScheduleStanding, wanted: readonly WantedRun[]): Promise<ScheduleStanding> {
    const { after, pausedAt, waiting = [], looks = 0 } = standing;
    const unchanged = { after, ...(pausedAt !== undefined && { pausedAt }) };
    const all = [...waiting, ...wanted];
    if (all.length === 0) return { ...unchanged, started: [] };
    const ctx = this.#ctx;
    const { name } = this.#settings;
    const needsLook = all.some(({ overlap }) => overlap !== 'allow');
    const open = needsLook ? await ctx.step('open', { effect: 'read' }, () => this.#runs.open(name)) : [];
    const ids = new Set(all.map(({ runId }) => runId));
    // A run that this occasion has started already, before a crash, is none that it has to wait for.
    const others = open.filter((runId) => !ids.has(runId));
    const { start, wait, skip, cancels } = decideOverlap(all, others.length > 0);
    if (cancels)
      await ctx.step('cancel', { effect: 'read' }, async () => {
        for (const runId of others) await this.#runs.cancel(runId).catch(() => undefined);
      });
    const error = await this.#start(start);
    // While it is only looked again, what was told of the newest occasion stays.
    const isLook = wanted.length === 0 && start.length === 0;
    return {
      ...unchanged,
      started: isLook ? standing.started : error === undefined ? start.map(({ runId }) => runId) : [],
      ...(error !== undefined && { error }),
      ...(isLook && standing.skipped && { skipped: standing.skipped }),
      ...(skip.length > 0 && { skipped: { times: skip.map(({ at }) => at), because: 'overlap' as const } }),
      ...(wait.length > 0 && { waiting: wait, looks: isLook ? looks + 1 : 0 }),
    };
  }

  /** @returns why not all of them were started */
  async #start(wanted: readonly WantedRun[]): Promise<string | undefined> {
    const ctx = this.#ctx;
    if (wanted.length === 0) return undefined;
    try {
      // Class `read`, although it starts runs: starting a run again under its id has no effect.
      await ctx.step('start', { effect: 'read', retry }, async () => {
        for (const { runId, at, isAsked } of wanted)
          await startOnce(this.#runs, this.#settings, runId, at, isAsked === true ? 0 : delayOf(this.#settings, at));
      });
      return undefined;
    } catch (error) {
      // The attempt was stopped, not refused: whoever goes on with the schedule starts the runs.
      if (ctx.signal.aborted) throw error;
      return reasonOf(error);
    }
  }
}

/**
 * Starts a run. If a worker started it under another graph and died before recording that, it counts as started; a run that no schedule
 * began does not.
 */
async function startOnce(
  runs: ScheduledRuns,
  settings: ScheduleSettings,
  runId: string,
  dueMs: number,
  delayMs: number,
): Promise<void> {
  try {
    await runs.start(settings, runId, dueMs, delayMs);
  } catch (error) {
    if (!CairnError.is(error, 'RUN_EXISTS') || error.data['difference'] === 'origin') throw error;
  }
}
