/**
 * A schedule is a run that sleeps: until its next due time, at which it starts a run, and so on. So its due times are its history, and
 * whoever can go on with a run can go on with a schedule. What it starts has an id that follows from the due time: two workers that
 * fire the same time, and one that fires it again after a crash, start the same run.
 */
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import { END, START, type Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { CairnError } from '../../errors.ts';
import { readCron, type CronTimes } from './cron-times.ts';

/** What becomes of due times that nobody met within a minute: none is started, the newest if no later one was met, or all, `limit` of the newest. */
export type MissedPolicy = 'skip' | 'last' | 'all';

export const missedPolicies: readonly MissedPolicy[] = ['skip', 'last', 'all'];

/** What a schedule goes by: the input of its run. */
export interface ScheduleSettings {
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly missed: MissedPolicy;
  /** The most due times that `all` starts at once. */
  readonly limit: number;
  /** Of the runs that are started. */
  readonly input: unknown;
}

/** What a schedule keeps from one due time to the next. */
export interface ScheduleStanding {
  /** Epoch ms: due times up to here are done with. */
  readonly after: number;
  /** Ids of what the newest due time started; none: it was missed, and skipped. */
  readonly started: readonly string[];
  /** Why the newest due time started nothing. */
  readonly error?: string;
}

/** Starts the run of a due time, if it is not there yet. */
export type StartDue = (settings: ScheduleSettings, runId: string, dueMs: number) => Promise<void>;

/** A time that is met later than this was missed: longer than a worker takes to look. */
const lateMs = 60_000;
/** A file that cannot be read just now may be there in a moment; a due time that cannot be started holds up no other. */
const retry = { attempts: 4, delayMs: 1_000 } as const;

/** The id of the run that a schedule starts at a time: `nightly.20261123T020000Z`. */
export function dueRunId(name: string, dueMs: number): string {
  return `${name}.${new Date(dueMs).toISOString().replace(/[-:]|\.\d+/g, '')}`;
}

/** Of the due times that have passed, those to start: those just now, and of older ones what the policy says. */
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

/** The graph of schedules that start runs this way. Its input is {@link ScheduleSettings}. */
export function scheduleGraph(id: string, start: StartDue): Graph {
  const run = (ctx: NodeContext): Promise<ScheduleStanding> => keepSchedule(ctx, start);
  return compileGraph({
    id,
    // The text stands for the code: a schedule goes on under a newer version of this package.
    nodes: [{ id: 'schedule', type: 'schedule', effect: 'read', implementation: { run, codeText: 'schedule 1' } }],
    edges: [
      { from: START, to: 'schedule' },
      { from: 'schedule', to: END },
    ],
  });
}

/** Ends only if no due time is left. */
async function keepSchedule(ctx: NodeContext, start: StartDue): Promise<ScheduleStanding> {
  const settings = ctx.input as ScheduleSettings;
  const times = readCron(settings.cron, settings.timezone);
  const began = async (): Promise<ScheduleStanding> => ({
    after: await ctx.step('begin', {}, () => ctx.now()),
    started: [],
  });
  let standing = (ctx.savedState as ScheduleStanding | undefined) ?? (await began());
  for (;;) {
    const { after } = standing;
    // Recorded: rules of time zones may change while it sleeps.
    const dueMs = await ctx.step('next', {}, () => times.next(after) ?? null);
    if (dueMs === null) return standing;
    await ctx.sleepUntil(dueMs, 'until');
    standing = await meet(ctx, start, settings, times, standing);
    await ctx.save(standing);
  }
}

/** Starts what is due by now. */
async function meet(
  ctx: NodeContext,
  start: StartDue,
  settings: ScheduleSettings,
  times: CronTimes,
  { after }: ScheduleStanding,
): Promise<ScheduleStanding> {
  // The clock is read once: what is done with is what was looked at.
  const now = await ctx.step('now', {}, () => ctx.now());
  const due = timesToStart(times, settings, after, now);
  const started = due.map((time) => dueRunId(settings.name, time));
  const done = { after: times.between(after, now, 1)[0] ?? after, started };
  try {
    // `read`, though it starts runs: to start one again under its id changes nothing.
    await ctx.step('start', { effect: 'read', retry }, async () => {
      for (const [index, time] of due.entries()) await startOnce(start, settings, started[index] as string, time);
    });
    return done;
  } catch (error) {
    // Stopped here, not refused there: whoever goes on with the schedule starts them.
    if (ctx.signal.aborted) throw error;
    return { ...done, started: [], error: error instanceof Error ? error.message : String(error) };
  }
}

/** One that was started under another graph, by a worker that died before it could say so, was started. */
async function startOnce(start: StartDue, settings: ScheduleSettings, runId: string, dueMs: number): Promise<void> {
  try {
    await start(settings, runId, dueMs);
  } catch (error) {
    if (!CairnError.is(error, 'RUN_EXISTS')) throw error;
  }
}
