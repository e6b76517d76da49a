/** Schedules made by programs: `schedule(graph, { cron })`. */
import type { Engine } from '../../engine/api.ts';
import type { Graph } from '../../graph/graph.ts';
import type { WorkedGraph } from '../worker.ts';
import { readCron } from './cron-times.ts';
import {
  endSchedule,
  openSchedule,
  readSettings,
  type OpenedSchedule,
  type ScheduleOptions,
  scheduleGraph,
  type StartDue,
  wasStartedEarlier,
} from './keep-schedule.ts';
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
  const times = readCron(options.cron, options.timezone ?? 'UTC');
  const startDue: StartDue = async ({ name, input }, runId, dueMs) => {
    const { engine } = target;
    if (await wasStartedEarlier(engine, name, dueMs)) return;
    await engine.start(target.graph, input, {
      runId,
      origin: 'due',
      detach: true,
      schedule: { dueAt: dueMs },
      meta: { labels: { schedule: name } },
    });
    // Advance it in this process, if no worker has claimed it already.
    engine.resume(runId, { graph: target.graph, retryFailed: false }).catch(() => {});
  };
  const graph = scheduleGraph(`schedule:${target.graph.id}`, startDue);
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
    stop: () => endSchedule(engineOf(), options.name ?? target.graph.id),
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
