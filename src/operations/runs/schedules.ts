/**
 * The operation `schedule`: starts graphs at certain times. A schedule is itself a run that sleeps; the runs it starts are ordinary ones.
 */
import { CairnError } from '../../errors.ts';
import { loadState } from '../../history/load/load.ts';
import { readPostedSignals } from '../../history/stored/messages.ts';
import { isOfOrigin } from '../../history/stored/run-ids.ts';
import { parseWebhooks, webhookText, type Webhook } from '../../graph/webhooks.ts';
import type { RunRow } from '../../ports/store.ts';
import type { RunTree } from '../../state/tree.ts';
import { readTime } from './read-time.ts';
import { exportField } from '../contract/fields.ts';
import { anything, flag, listOf, objectOf, text, texts, time, described, whole } from '../contract/output-shapes.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import type { Operation, WorkContext } from '../contract/operation.ts';
import { findRun, quotedRun } from './find-run.ts';
import { readAllRuns } from '../../history/access/read-all.ts';
import { openStatuses } from '../../ports/held-runs.ts';

/** A schedule for a file: see `ScheduleOptions` of the library. */
export interface FileSchedule {
  readonly file: string;
  readonly export?: string;
  readonly name?: string;
  readonly cron: string;
  readonly timezone?: string;
  readonly missed?: 'skip' | 'last' | 'all';
  readonly limit?: number;
  readonly input?: unknown;
  readonly overlap?: Overlap;
  readonly jitterMs?: number;
  /** Epoch ms. */
  readonly endsAt?: number;
  /** Those of the runs that it starts. */
  readonly webhooks?: readonly Webhook[];
}

type Overlap = 'skip' | 'queue' | 'cancel-previous' | 'allow';

/** The runs that a schedule starts since it was asked to, and its own. */
interface RequestedRuns {
  readonly runId: string;
  readonly starts: readonly string[];
}

interface CommandOptions {
  readonly overlap?: Overlap;
  readonly by?: string;
}

/** Settings that are other ones than before, by name. One that is absent has its default. */
type Changes = Readonly<Record<string, { readonly before?: unknown; readonly after?: unknown }>>;

/** Adds, changes and removes schedules. */
export interface Schedules {
  /** Of a name that has a schedule with other settings, it takes the place of that. @throws CONFIG_INVALID, INPUT_INVALID, GRAPH_* */
  add(
    schedule: FileSchedule,
  ): Promise<{ readonly runId: string; readonly created: boolean; readonly changes?: Changes }>;
  /** Pauses a schedule, or lets it go on. @returns the run of the schedule. @throws RUN_NOT_FOUND */
  setPaused(name: string, isPaused: boolean, by: Pick<CommandOptions, 'by'>): Promise<string>;
  /** Has it start a run now. @param how.id - tells it from others. @throws RUN_NOT_FOUND */
  trigger(name: string, how: CommandOptions & { readonly id: string }): Promise<RequestedRuns>;
  /** Has it start the runs of times that have passed, in epoch ms. @throws RUN_NOT_FOUND, CONFIG_INVALID */
  backfill(name: string, how: CommandOptions & { readonly from: number; readonly to: number }): Promise<RequestedRuns>;
  /** @returns the run of the schedule. @throws RUN_NOT_FOUND */
  remove(name: string): Promise<string>;
  /** The first due time after another, both in epoch ms; undefined if none comes. */
  nextTime(times: Pick<FileSchedule, 'cron' | 'timezone' | 'endsAt'>, after: number): Promise<number | undefined>;
}

export interface ScheduleContext extends WorkContext {
  readonly schedules: Schedules;
}

export interface ScheduleInput extends Omit<FileSchedule, 'file' | 'cron' | 'endsAt' | 'webhooks'> {
  readonly action: string;
  /** For `add` a file, otherwise a name. */
  readonly target?: string;
  readonly cron?: string;
  readonly ends?: string;
  /** Each as `https://hooks.example.org/cairn completed,failed secret:NAME`. */
  readonly webhook?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly replaces?: boolean;
  readonly by?: string;
}

export interface ShownSchedule {
  readonly name: string;
  readonly runId: string;
  readonly status: string;
  readonly cron: string;
  readonly timezone: string;
  readonly missed: string;
  readonly input: unknown;
  readonly file?: string;
  /** Next due time in epoch ms, whether or not a worker has come to the schedule yet; absent if it has ended. */
  readonly nextAt?: number;
  /** Absent: `skip`, and with `missed: all` it is `allow`. */
  readonly overlap?: Overlap;
  readonly jitterMs?: number;
  readonly endsAt?: number;
  /** Webhooks of the runs that it starts, as `add` takes them. */
  readonly webhooks?: readonly string[];
  /** Ids of the runs started at the newest occasion. */
  readonly started: readonly string[];
  /** Why no run was started. */
  readonly error?: string;
  /** Due times of the newest occasion that were left out, and why. */
  readonly skipped?: { readonly times: readonly number[]; readonly because: string };
  /** Ids of the runs that begin when those that go on have ended. */
  readonly waiting?: readonly string[];
  /** Since when it is paused, in epoch ms. */
  readonly pausedAt?: number;
}

export interface ScheduleOutput {
  readonly schedules: readonly ShownSchedule[];
  /** For `add`: false if the schedule existed already. */
  readonly created?: boolean;
  /** For `add`: what is other than before, if it took the place of another one. */
  readonly changes?: Changes;
  /** For `trigger` and `backfill`: ids of the runs that it starts, as soon as a worker comes to it. */
  readonly starts?: readonly string[];
}

/**
 * Whether a run is a schedule, of a file or made by a program. Schedules of earlier versions are told by their graphs, whose names others
 * may have too, but under no such id.
 */
function isSchedule({ key, meta, runId, graphId }: RunRow): boolean {
  if (isOfOrigin({ key, meta }, 'schedule')) return true;
  return /^[\w-]+\.schedule(?:\.\d+)?$/.test(runId) && (graphId === 'schedule' || graphId.startsWith('schedule:'));
}

/** What the run of a schedule saves from one due time to the next. */
type Standing = Pick<ShownSchedule, 'started' | 'error' | 'skipped' | 'pausedAt'> & {
  readonly after: number;
  readonly waiting?: readonly { readonly runId: string }[];
};

/**
 * Since when a schedule is paused, in epoch ms: by what it has saved, and by what it was told and has not heard yet, as no worker has come to
 * it.
 */
export async function pausedSince(
  { store }: Pick<WorkContext, 'store'>,
  run: RunRow,
  { frame, signals = {} }: Pick<RunTree, 'frame' | 'signals'>,
): Promise<number | undefined> {
  const { pausedAt } = (frame.nodes['schedule']?.saved ?? {}) as Partial<Standing>;
  const posted = run.hasMessages ? await readPostedSignals(store, run) : [];
  let since = pausedAt;
  for (const { value } of [...Object.values(signals), ...posted]) {
    const command = (value ?? {}) as { readonly do?: string; readonly at?: number };
    if (command.do === 'pause') since ??= command.at;
    if (command.do === 'resume') since = undefined;
  }
  return since;
}

const goesOn = ({ status }: RunRow): boolean => status === 'running' || status === 'paused';

async function show({ store, blobs, tenant, schedules }: ScheduleContext, run: RunRow): Promise<ShownSchedule> {
  const { root } = await loadState(store, blobs, run);
  const { frame } = root;
  const { name, cron, timezone, missed, input, file, overlap, jitterMs, endsAt } = frame.input as ShownSchedule;
  const { webhooks } = frame.input as FileSchedule;
  const saved = (frame.nodes['schedule']?.saved ?? {}) as Partial<Standing>;
  const { started = [], error, after = run.createdAt, skipped, waiting } = saved;
  const { rows } = await store.listWaits({ tenant, runId: run.runId });
  const times = { cron, timezone, ...(endsAt !== undefined && { endsAt }) };
  // While a run waits for others to end, the schedule sleeps only until it looks again.
  const slept = waiting === undefined ? rows[0]?.dueAt : undefined;
  const nextAt = slept ?? (goesOn(run) ? await schedules.nextTime(times, after) : undefined);
  const pausedAt = goesOn(run) ? await pausedSince({ store }, run, root) : undefined;
  return {
    name,
    runId: run.runId,
    status: run.status,
    cron,
    timezone,
    missed,
    input,
    started,
    ...(overlap !== undefined && { overlap }),
    ...(jitterMs !== undefined && { jitterMs }),
    ...(endsAt !== undefined && { endsAt }),
    ...(webhooks && { webhooks: webhooks.map(webhookText) }),
    ...(skipped && { skipped }),
    ...(waiting && { waiting: waiting.map(({ runId }) => runId) }),
    ...(pausedAt !== undefined && { pausedAt }),
    ...(file !== undefined && { file }),
    ...(nextAt !== undefined && { nextAt }),
    ...(error !== undefined && { error }),
  };
}

export async function listSchedules(context: ScheduleContext): Promise<readonly ShownSchedule[]> {
  const schedules: ShownSchedule[] = [];
  for await (const run of readAllRuns(context, { status: openStatuses }))
    if (isSchedule(run)) schedules.push(await show(context, run));
  return schedules;
}

/** Schedules as every door shows them. */
export const schedulesShape: JsonSchema = listOf(
  objectOf(
    {
      name: text,
      runId: text,
      status: text,
      cron: text,
      timezone: text,
      missed: text,
      input: described(anything, 'what each run is given'),
      started: texts,
    },
    {
      file: text,
      nextAt: time,
      error: described(text, 'why no run was started'),
      overlap: described(text, 'what becomes of a time while a run of the schedule goes on'),
      jitterMs: described(whole, 'how much later than they are due runs may begin'),
      endsAt: described(time, 'the last moment at which a time counts'),
      webhooks: described(texts, 'who is told what becomes of its runs: address, events, secret'),
      skipped: described(
        objectOf({ times: described(listOf(whole), 'in epoch ms'), because: text }),
        'the newest due times that were left out, in epoch ms, and why: paused or overlap',
      ),
      waiting: described(texts, 'runs that begin when those that go on have ended'),
      pausedAt: described(time, 'since when it is paused'),
    },
  ),
);

export const schedule: Operation<ScheduleInput, ScheduleOutput, ScheduleContext> = {
  name: 'schedule_runs',
  command: 'schedule',
  summary: 'start a workflow or a graph at times',
  input: {
    action: {
      type: 'text',
      description: 'what to do',
      isRequired: true,
      isPositional: true,
      choices: ['add', 'list', 'pause', 'resume', 'trigger', 'backfill', 'remove'],
    },
    target: {
      type: 'text',
      description: 'add: the file, or the name of a known workflow; otherwise the name of the schedule',
      isPositional: true,
    },
    cron: {
      type: 'text',
      description: 'when: minute hour day month weekday, with seconds first if there are six; or @daily and its like',
    },
    timezone: { type: 'text', description: 'whose clocks are meant, such as Europe/Berlin', default: 'UTC' },
    input: { type: 'value', description: 'what each run is given' },
    name: { type: 'text', description: 'its name, with which ids of runs begin; default: that of the graph' },
    missed: {
      type: 'text',
      description: 'which of the times that nobody met within a minute are started',
      default: 'last',
      choices: ['skip', 'last', 'all'],
    },
    limit: { type: 'integer', description: 'the most that --missed all starts at once', default: 100, min: 1 },
    overlap: {
      type: 'text',
      description:
        'what becomes of a time while a run of the schedule goes on; default: skip, with --missed all and when asked: allow',
      choices: ['skip', 'queue', 'cancel-previous', 'allow'],
    },
    jitterMs: { type: 'integer', description: 'runs begin up to this many ms later than they are due' },
    ends: {
      type: 'text',
      description: 'the last moment that counts: 2027-01-31T18:00, or a date, of which it is the first moment',
    },
    webhook: {
      type: 'texts',
      description:
        'who is told what becomes of its runs: "https://hooks.example.org/cairn completed,failed secret:WEBHOOK_SECRET"',
    },
    from: {
      type: 'time',
      description: 'backfill: the first time: 2026-11-03, a time of day with it, or an age: 3h, 2d',
    },
    to: { type: 'time', description: 'backfill: the last time, in the same forms; default: now' },
    export: exportField,
    replaces: { type: 'flag', description: 'no effect: add takes the place of a schedule of this name' },
    by: { type: 'text', description: 'who asks, for the record', isActor: true },
  },
  output: 'the schedules',
  outputSchema: objectOf(
    {
      schedules: schedulesShape,
    },
    {
      created: flag,
      changes: described(anything, 'settings that are other ones than before: by name, before and after'),
      starts: described(texts, 'runs that it starts as soon as a worker comes to it'),
    },
  ),
  isReadOnly: false,
  scope: 'admin',
  /** @throws USAGE_INVALID, CONFIG_INVALID, INPUT_INVALID, RUN_NOT_FOUND, GRAPH_* */
  async run(context, { action, target, ...options }) {
    if (action === 'list') return { schedules: await listSchedules(context) };
    if (target === undefined)
      throw new CairnError('USAGE_INVALID', {
        reason: `schedule ${action} takes ${action === 'add' ? 'a file' : 'a name'}`,
      });
    const { runId, ...more } = await changed(context, action, target, options);
    return { schedules: [await show(context, await findRun(context, quotedRun(runId)))], ...more };
  },
};

/** Does what changes something. @returns the run of the schedule, and what there is to tell */
async function changed(
  context: ScheduleContext,
  action: string,
  target: string,
  input: Omit<ScheduleInput, 'action' | 'target'>,
): Promise<Omit<ScheduleOutput, 'schedules'> & { readonly runId: string }> {
  const { cron, ends, from, to, overlap, by, webhook, replaces: _, ...options } = input;
  const { schedules, ids } = context;
  const now = context.now();
  const command = { ...(overlap !== undefined && { overlap }), ...(by !== undefined && { by }) };
  if (action === 'remove') return { runId: await schedules.remove(target) };
  if (action === 'pause' || action === 'resume')
    return { runId: await schedules.setPaused(target, action === 'pause', command) };
  if (action === 'trigger') return schedules.trigger(target, { ...command, id: ids.createRunId(now) });
  if (action === 'backfill') {
    if (from === undefined)
      throw new CairnError('USAGE_INVALID', { reason: '--from is missing', hint: 'Say since when: --from 2d' });
    const span = { from: readTime('from', from, now), to: to === undefined ? now : readTime('to', to, now) };
    return schedules.backfill(target, { ...command, ...span });
  }
  if (cron === undefined)
    throw new CairnError('USAGE_INVALID', { reason: '--cron is missing', hint: `Say when: --cron '0 2 * * *'` });
  const endsAt = ends === undefined ? {} : { endsAt: readTime('ends', ends, now) };
  const webhooks = webhook?.flatMap(readWebhooks);
  return schedules.add({
    ...options,
    ...(overlap !== undefined && { overlap }),
    ...(webhooks && { webhooks }),
    ...endsAt,
    file: target,
    cron,
  });
}

/** @throws USAGE_INVALID */
function readWebhooks(text: string): readonly Webhook[] {
  const hooks = parseWebhooks(text);
  if (hooks !== undefined) return hooks;
  throw new CairnError('USAGE_INVALID', {
    reason: `${JSON.stringify(text)} is no webhook`,
    hint: 'Say where, what and the secret: --webhook "https://hooks.example.org/cairn completed,failed secret:NAME"',
  });
}
