/** Schedules made by programs: `schedule(graph, { cron })`. */
import type { Engine } from '../../engine/api.ts';
import type { Graph } from '../../graph/graph.ts';
import type { WorkedGraph } from '../worker.ts';
import type { Overlap } from './overlap.ts';
import {
  type RequestedRuns,
  backfillSchedule,
  endSchedule,
  setSchedulePaused,
  openSchedule,
  readSettings,
  type OpenedSchedule,
  runsOf,
  type ScheduleOptions,
  triggerSchedule,
  wasStartedEarlier,
} from './keep-schedule.ts';
import { scheduleGraph, type ScheduledRuns, timesOf } from './schedule-run.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

/** A graph with a schedule. Pass it to `createWorker` together with the graph itself. */
export interface ScheduledGraph {
  /** Graph of the schedule, which is a run that sleeps. */
  readonly graph: Graph;
  readonly engine: Engine;
  /**
   * Records the schedule. From then on this process, while it lives, and any worker that has this graph start its runs. A second start with
   * the same options has no effect.
   * @param options.replaces - whether to replace a schedule with the same name and other options
   * @throws CONFIG_INVALID, INPUT_INVALID
   */
  start(options?: { readonly replaces?: boolean }): Promise<OpenedSchedule>;
  /** Ends the schedule. Runs that it started go on. @returns the id of its run. @throws RUN_NOT_FOUND there is none */
  stop(): Promise<string>;
  /** Leaves out the times from now on, until it is resumed. @returns the id of its run. @throws RUN_NOT_FOUND */
  pause(): Promise<string>;
  /** Goes on with the next time. What was due meanwhile is not started. @throws RUN_NOT_FOUND */
  resume(): Promise<string>;
  /** Starts a run now, whether or not one goes on. @throws RUN_NOT_FOUND, CONFIG_INVALID */
  trigger(options?: { readonly overlap?: Overlap }): Promise<RequestedRuns>;
  /**
   * Starts a run for each of its times from one moment to another that has passed and that it started none for, at most 1,000; default: all at
   * once. @throws RUN_NOT_FOUND, CONFIG_INVALID
   */
  backfill(span: { readonly from: Date; readonly to: Date; readonly overlap?: Overlap }): Promise<RequestedRuns>;
  /** The next due times. @param count - how many; default 1 */
  next(count?: number): readonly Date[];
}

/** A graph that is started at times. What it takes is known of one that was compiled. */
interface TimedGraph<Input> extends WorkedGraph {
  start?(input: Input): unknown;
}

const optionNames: readonly string[] = [
  'cron',
  'timezone',
  'input',
  'name',
  'missed',
  'limit',
  'webhooks',
  'overlap',
  'jitterMs',
  'endsAt',
] satisfies readonly (keyof ScheduleOptions)[];

/**
 * Makes a schedule for a compiled graph. Each due time starts one run, whose id is made from the name and the time
 * (`cairn:due:nightly:20261123T020000Z`).
 * @throws CONFIG_INVALID an invalid cron expression or time zone, or an unknown option
 */
export function schedule<Input = unknown>(
  target: TimedGraph<Input>,
  options: ScheduleOptions<NoInfer<Input>>,
): ScheduledGraph {
  refuseUnknownKeys('schedule', options, optionNames);
  const endsAt = options.endsAt instanceof Date ? options.endsAt.getTime() : undefined;
  const span = { cron: options.cron, timezone: options.timezone ?? 'UTC', ...(endsAt !== undefined && { endsAt }) };
  const times = timesOf(span);
  const name = options.name ?? target.graph.id;
  const graph = scheduleGraph(
    `schedule:${target.graph.id}`,
    runsOf(() => target.engine, startOf(target)),
  );
  let isKnown = false;
  const engineOf = (): Engine => {
    if (!isKnown) target.engine.know(graph);
    isKnown = true;
    return target.engine;
  };
  return {
    graph,
    get engine() {
      return engineOf();
    },
    async start(how = {}) {
      refuseUnknownKeys('the start of a schedule', how, ['replaces']);
      const { replaces = false } = how;
      const engine = engineOf();
      const opened = await openSchedule(engine, graph, await readSettings(target.graph, options), { replaces });
      engine.resume(opened.runId, { graph, retryFailed: false }).catch(() => {});
      return opened;
    },
    stop: () => endSchedule(engineOf(), name),
    pause: () => setSchedulePaused(engineOf(), name, true),
    resume: () => setSchedulePaused(engineOf(), name, false),
    trigger: (how = {}) => {
      refuseUnknownKeys('the trigger of a schedule', how, ['overlap']);
      return triggerSchedule(engineOf(), name, { ...how, id: crypto.randomUUID() });
    },
    backfill: ({ from, to, ...how }) => {
      refuseUnknownKeys('the backfill of a schedule', how, ['overlap']);
      return backfillSchedule(engineOf(), name, { ...how, from: from.getTime(), to: to.getTime() });
    },
    next(count = 1) {
      const dates: Date[] = [];
      let after: number | undefined = engineOf().ports.clock.now();
      while (dates.length < count) {
        after = times.next(after);
        if (after === undefined) break;
        dates.push(new Date(after));
      }
      return dates;
    },
  };
}

/** Starts a run of a graph for a due time. Its engine is made at first use. */
function startOf(target: WorkedGraph): ScheduledRuns['start'] {
  return async ({ name, input, webhooks }, runId, dueMs, delayMs) => {
    const { engine, graph } = target;
    if (await wasStartedEarlier(engine, name, dueMs)) return;
    await engine.start(graph, input, {
      runId,
      origin: 'due',
      detach: true,
      schedule: { dueAt: dueMs + delayMs },
      meta: { labels: { schedule: name }, ...(webhooks && { webhooks }) },
    });
    // Advance it in this process, if no worker has claimed it already.
    const goOn = (): void => void engine.resume(runId, { graph, retryFailed: false }).catch(() => {});
    const { clock } = engine.ports;
    const waitMs = dueMs + delayMs - clock.now();
    if (delayMs === 0 || waitMs <= 0) goOn();
    else clock.setTimer(waitMs, goOn);
  };
}
