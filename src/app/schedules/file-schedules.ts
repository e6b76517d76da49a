/** Schedules for files and for workflows with a name, as `cairn schedule` makes them. The file is read again at each due time. */
import type { Engine } from '../../engine/api.ts';
import type { Graph } from '../../graph/graph.ts';
import type { LoadedGraph } from '../../operations/contract/operation.ts';
import type { Schedules } from '../../operations/runs/schedules.ts';
import { readCron } from './cron-times.ts';
import {
  endSchedule,
  openSchedule,
  readSettings,
  scheduleGraph,
  wasStartedEarlier,
  type ScheduleSettings,
} from './keep-schedule.ts';

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
  return scheduleGraph('schedule', async (settings, runId, dueMs) => {
    const { file, export: exportName, input, name } = settings as FileSettings;
    const { graph, source = file, exportName: found } = await loadScheduled(file, exportName);
    const meta = { source, labels: { schedule: name }, ...(found !== undefined && { exportName: found }) };
    if (await wasStartedEarlier(engine, name, dueMs)) return;
    await engine.start(graph, input, { runId, origin: 'due', detach: true, schedule: { dueAt: dueMs }, meta });
  });
}

export function schedulesOfFiles(files: Files): Schedules {
  return {
    async add({ file, export: exportName, replaces, ...options }) {
      const { graph, source = file } = await files.loadGraph(file, exportName);
      const settings = await readSettings(graph, options);
      const ofFile: FileSettings = {
        ...settings,
        file: source,
        ...(exportName !== undefined && { export: exportName }),
      };
      return openSchedule(files.engine, fileScheduleGraph(files), ofFile, { replaces: replaces === true });
    },
    remove: (name) => endSchedule(files.engine, name),
    nextTime: async ({ cron, timezone = 'UTC' }, after) => readCron(cron, timezone).next(after),
  };
}
