/** Schedules for files and for workflows with a name, as `cairn schedule` makes them. The file is read again at each due time. */
import type { Engine } from '../../engine/api.ts';
import type { Graph } from '../../graph/graph.ts';
import type { LoadedGraph } from '../../operations/contract/operation.ts';
import type { Schedules } from '../../operations/runs/schedules.ts';
import {
  backfillSchedule,
  endSchedule,
  setSchedulePaused,
  openSchedule,
  readSettings,
  runsOf,
  triggerSchedule,
  wasStartedEarlier,
} from './keep-schedule.ts';
import { scheduleGraph, type ScheduledRuns, type ScheduleSettings, timesOf } from './schedule-run.ts';

/** What finds the graphs of files, and starts them. */
interface Files {
  readonly engine: Engine;
  readonly loadGraph: (file: string, exportName?: string) => Promise<LoadedGraph>;
  /** The same for a file that a schedule on record names. */
  readonly loadScheduled: (file: string, exportName?: string) => Promise<LoadedGraph>;
}

interface FileSettings extends ScheduleSettings {
  readonly file: string;
  readonly export?: string;
}

/** The graph of all such schedules. */
export function fileScheduleGraph({ engine, loadScheduled }: Files): Graph {
  const start: ScheduledRuns['start'] = async (settings, runId, dueMs, delayMs) => {
    const { file, export: exportName, input, name, webhooks } = settings as FileSettings;
    const { graph, source = file, exportName: foundName } = await loadScheduled(file, exportName);
    const meta = {
      source,
      labels: { schedule: name },
      ...(webhooks && { webhooks }),
      ...(foundName !== undefined && { exportName: foundName }),
    };
    if (await wasStartedEarlier(engine, name, dueMs)) return;
    const schedule = { dueAt: dueMs + delayMs };
    await engine.start(graph, input, { runId, origin: 'due', detach: true, schedule, meta });
  };
  return scheduleGraph(
    'schedule',
    runsOf(() => engine, start),
  );
}

export function schedulesOfFiles(files: Files): Schedules {
  return {
    async add({ file, export: exportName, endsAt, ...options }) {
      const { graph, source = file } = await files.loadGraph(file, exportName);
      const settings = await readSettings(graph, {
        ...options,
        ...(endsAt !== undefined && { endsAt: new Date(endsAt) }),
      });
      const ofFile: FileSettings = {
        ...settings,
        file: source,
        ...(exportName !== undefined && { export: exportName }),
      };
      return openSchedule(files.engine, fileScheduleGraph(files), ofFile, { replaces: true, isByHand: true });
    },
    remove: (name) => endSchedule(files.engine, name),
    setPaused: (name, isPaused, by) => setSchedulePaused(files.engine, name, isPaused, by),
    trigger: (name, how) => triggerSchedule(files.engine, name, how),
    backfill: (name, how) => backfillSchedule(files.engine, name, how),
    nextTime: async ({ timezone = 'UTC', ...times }, after) => timesOf({ ...times, timezone }).next(after),
  };
}
