/** `run`: starts a graph, and by default stays with it until it ends or pauses. */
import type { RunHandle, RunMeta, RunResult } from '../engine/api.ts';
import type { FieldsOf, Operation, WorkContext } from './operation.ts';

export interface StartRunInput {
  readonly file: string;
  readonly export?: string;
  readonly input?: unknown;
  readonly runId?: string;
  readonly detach?: boolean;
}

export interface StartRunOutput {
  readonly runId: string;
  /** False: a run of this id existed, with the same graph and input (E2). */
  readonly isNew: boolean;
  /** Absent when it was only admitted. */
  readonly result?: RunResult;
}

const input: FieldsOf<StartRunInput> = {
  file: { type: 'text', description: 'the module that exports the graph', isRequired: true, isPositional: true },
  export: { type: 'text', description: 'the name of the export, if the module has several graphs' },
  input: { type: 'value', description: 'what the graph is given' },
  runId: { type: 'text', description: 'id of the run; starting twice with one id is the same run' },
  detach: { type: 'flag', description: 'only record the run; do not stay with it' },
};

/**
 * Follows a run to where nothing more can be done for it, telling the context's watcher.
 *
 * @param after - only of what follows this checkpoint; default: of everything
 */
export async function followRun(context: WorkContext, handle: RunHandle, after?: number): Promise<RunResult> {
  const { watch } = context;
  if (watch === undefined) return handle.result();
  const watching = (async () => {
    for await (const event of handle.events({ live: true, ...(after !== undefined && { after }) })) watch(event);
  })();
  // Whether the run could be advanced is told by its result; events only show it.
  const [result] = await Promise.all([handle.result(), watching.catch(() => undefined)]);
  return result;
}

export const startRun: Operation<StartRunInput, StartRunOutput, WorkContext> = {
  name: 'run',
  summary: 'start a graph and follow it until it ends or waits',
  input,
  output: 'the run, and where it stands',
  isReadOnly: false,
  async run(context, { file, export: exportName, input: given, runId, detach = false }) {
    const { graph, ...place } = await context.loadGraph(file, exportName);
    const meta: RunMeta = place;
    const handle = await context.engine.start(graph, given, { meta, detach, ...(runId !== undefined && { runId }) });
    const started = { runId: handle.runId, isNew: handle.created };
    return detach ? started : { ...started, result: await followRun(context, handle) };
  },
};
