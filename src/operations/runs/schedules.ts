/**
 * The operation `schedule`: starts graphs at certain times. A schedule is itself a run that sleeps; the runs it starts are ordinary ones.
 */
import { CairnError } from '../../errors.ts';
import { loadState } from '../../history/load/load.ts';
import { isOfOrigin } from '../../history/stored/run-ids.ts';
import type { RunRow } from '../../ports/store.ts';
import { exportField } from '../contract/fields.ts';
import { anything, flag, listOf, objectOf, text, texts, time, described } from '../contract/output-shapes.ts';
import type { Operation, WorkContext } from '../contract/operation.ts';
import { findRun, quotedRun } from './find-run.ts';
import { readAllRuns } from '../../history/access/place.ts';
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
  readonly replaces?: boolean;
}

/** Adds and removes schedules. */
export interface Schedules {
  /** @throws CONFIG_INVALID, INPUT_INVALID, GRAPH_* */
  add(schedule: FileSchedule): Promise<{ readonly runId: string; readonly created: boolean }>;
  /** @returns the run of the schedule. @throws RUN_NOT_FOUND */
  remove(name: string): Promise<string>;
  /** The first due time after another, both in epoch ms; undefined if none comes. */
  nextTime(times: Pick<FileSchedule, 'cron' | 'timezone'>, after: number): Promise<number | undefined>;
}

export interface ScheduleContext extends WorkContext {
  readonly schedules: Schedules;
}

export interface ScheduleInput extends Omit<FileSchedule, 'file' | 'cron'> {
  readonly action: string;
  /** For `add` a file, for `remove` a name. */
  readonly target?: string;
  readonly cron?: string;
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
  /** Ids of the runs started at the newest due time. */
  readonly started: readonly string[];
  /** Why no run was started. */
  readonly error?: string;
}

export interface ScheduleOutput {
  readonly schedules: readonly ShownSchedule[];
  /** For `add`: false if the schedule existed already. */
  readonly created?: boolean;
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
type Standing = Pick<ShownSchedule, 'started' | 'error'> & { readonly after: number };

const goesOn = ({ status }: RunRow): boolean => status === 'running' || status === 'paused';

async function show({ store, blobs, tenant, schedules }: ScheduleContext, run: RunRow): Promise<ShownSchedule> {
  const { frame } = (await loadState(store, blobs, run)).root;
  const { name, cron, timezone, missed, input, file } = frame.input as ShownSchedule;
  const { started = [], error, after = run.createdAt } = (frame.nodes['schedule']?.saved ?? {}) as Partial<Standing>;
  const { rows } = await store.listWaits({ tenant, runId: run.runId, kinds: ['timer'] });
  const nextAt = rows[0]?.dueAt ?? (goesOn(run) ? await schedules.nextTime({ cron, timezone }, after) : undefined);
  return {
    name,
    runId: run.runId,
    status: run.status,
    cron,
    timezone,
    missed,
    input,
    started,
    ...(file !== undefined && { file }),
    ...(nextAt !== undefined && { nextAt }),
    ...(error !== undefined && { error }),
  };
}

async function list(context: ScheduleContext): Promise<readonly ShownSchedule[]> {
  const schedules: ShownSchedule[] = [];
  for await (const run of readAllRuns(context, { status: openStatuses }))
    if (isSchedule(run)) schedules.push(await show(context, run));
  return schedules;
}

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
      choices: ['add', 'list', 'remove'],
    },
    target: {
      type: 'text',
      description: 'add: the file, or the name of a known workflow; remove: the name of the schedule',
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
    export: exportField,
    replaces: { type: 'flag', description: 'take the place of a schedule of this name with other settings' },
  },
  output: 'the schedules',
  outputSchema: objectOf(
    {
      schedules: listOf(
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
          { file: text, nextAt: time, error: described(text, 'why no run was started') },
        ),
      ),
    },
    { created: flag },
  ),
  isReadOnly: false,
  scope: 'admin',
  /** @throws USAGE_INVALID, CONFIG_INVALID, INPUT_INVALID, RUN_NOT_FOUND, GRAPH_* */
  async run(context, { action, target, cron, ...options }) {
    if (action === 'list') return { schedules: await list(context) };
    if (target === undefined)
      throw new CairnError('USAGE_INVALID', {
        reason: action === 'add' ? 'schedule add takes a file' : 'schedule remove takes a name',
      });
    if (action === 'remove') {
      const runId = await context.schedules.remove(target);
      return { schedules: [await show(context, await findRun(context, quotedRun(runId)))] };
    }
    if (cron === undefined)
      throw new CairnError('USAGE_INVALID', { reason: '--cron is missing', hint: `Say when: --cron '0 2 * * *'` });
    const { runId, created } = await context.schedules.add({ ...options, file: target, cron });
    return { schedules: [await show(context, await findRun(context, quotedRun(runId)))], created };
  },
};
