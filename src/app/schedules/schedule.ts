/** Schedules of a program: `schedule(graph, { cron })`. */
import type { Engine } from '../../engine/api.ts';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { WorkedGraph } from '../worker.ts';
import { readCron } from './cron-times.ts';
import { endSchedule, openSchedule, readSettings, type OpenedSchedule, type ScheduleOptions } from './keep-schedule.ts';
import { scheduleGraph, type StartDue } from './schedule-graph.ts';

/** A graph that is started at times. Give it to `createWorker` beside the graph itself. */
export interface ScheduledGraph {
  /** Of the schedule: a run that sleeps. */
  readonly graph: Graph;
  readonly engine: Engine;
  /**
   * Records the schedule; from then on its due times are met, by this process while it lives and by any worker that has it. Starting it
   * again with the same options is starting it once.
   * @param options.replaces - takes the place of one of the same name with other options
   * @throws CONFIG_INVALID, INPUT_INVALID
   */
  start(options?: { readonly replaces?: boolean }): Promise<OpenedSchedule>;
  /** Ends it; runs that it started go on. @returns the id of its run. @throws RUN_NOT_FOUND there is none */
  stop(): Promise<string>;
  /** The next due times from now on. @param count - default 1 */
  next(count?: number): readonly Date[];
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
 * A schedule of a compiled graph. Each due time starts one run, whose id follows from the name and the time (`nightly.20261123T020000Z`).
 * @throws CONFIG_INVALID a cron line or time zone that cannot be read, an option that does not exist
 */
export function schedule(target: WorkedGraph, options: ScheduleOptions): ScheduledGraph {
  const unknown = Object.keys(options).find((name) => !optionNames.includes(name));
  if (unknown !== undefined)
    throw new CairnError('CONFIG_INVALID', {
      path: unknown,
      reason: `a schedule has no such option; it has ${optionNames.join(', ')}`,
    });
  const times = readCron(options.cron, options.timezone ?? 'UTC');
  const startDue: StartDue = async ({ name, input }, runId, dueMs) => {
    const { engine } = target;
    await engine.start(target.graph, input, {
      runId,
      detach: true,
      schedule: { dueAt: dueMs },
      meta: { labels: { schedule: name } },
    });
    // Here at once, if no worker has taken it already.
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
    async start({ replaces = false } = {}) {
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
