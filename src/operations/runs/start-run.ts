/** The operation `run`: starts a graph and, by default, follows it until it ends or pauses. */
import { exportField } from '../contract/fields.ts';
import { started } from '../contract/output-shapes.ts';
import type { StartOptions } from '../../engine/api.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { Graph, Violation } from '../../graph/graph.ts';
import { doorOf } from '../contract/door.ts';
import { followRun } from './follow-run.ts';
import type { FieldsOf, RoutedOperation, RunStanding, WorkContext } from '../contract/operation.ts';

export interface StartRunInput {
  readonly file: string;
  readonly export?: string;
  readonly input?: unknown;
  readonly runId?: string;
  readonly detach?: boolean;
  readonly budget?: Amounts;
  readonly label?: Readonly<Record<string, string>>;
  readonly by?: string;
}

export interface StartRunOutput {
  readonly runId: string;
  /** False if a run with this id, graph and input existed already (E2). */
  readonly isNew: boolean;
  /** Warnings about the graph or its file, the same as `plan` reports. */
  readonly warnings: readonly Violation[];
  /** Absent if the run was only recorded. */
  readonly result?: RunStanding;
}

const input: FieldsOf<StartRunInput> = {
  file: {
    type: 'text',
    description: 'a workflow in YAML or DOT, the name of a known one, or a module that exports a graph',
    remoteName: 'workflow',
    isRequired: true,
    isPositional: true,
  },
  export: exportField,
  input: { type: 'value', description: 'what the graph is given' },
  runId: { type: 'text', description: 'id of the run; starting twice with one id is the same run' },
  detach: { type: 'flag', description: 'only record the run; do not stay with it', isLocal: true },
  budget: { type: 'assignments', description: 'what the run may spend, in place of what the graph says: usd=5' },
  label: { type: 'answers', description: 'a label by which ls finds the run: user=ann' },
  by: { type: 'text', description: 'who starts it, for the record', isActor: true },
};

/** Starts a graph and follows it, unless it is only to be recorded. */
export async function startGraph(
  context: WorkContext,
  graph: Graph,
  input: unknown,
  { warnings, ...options }: StartOptions & Pick<StartRunOutput, 'warnings'>,
): Promise<StartRunOutput> {
  const detach = options.detach === true || context.isDetached === true;
  const handle = await context.engine.start(graph, input, { ...doorOf(context), ...options, detach });
  const started = { runId: handle.runId, isNew: handle.created, warnings };
  return detach ? started : { ...started, result: await followRun(context, handle) };
}

export const startRun: RoutedOperation<StartRunInput, StartRunOutput, WorkContext> = {
  name: 'start_run',
  command: 'run',
  summary: 'start a graph and follow it until it ends or waits',
  input,
  output: 'the run, and where it stands',
  outputSchema: started,
  isReadOnly: false,
  scope: 'run',
  route: 'POST /runs',
  async run(context, { file, export: exportName, input: runInput, runId, detach = false, budget, label, by }) {
    const { graph, source, exportName: name, workflow } = await context.loadGraph(file, exportName);
    const meta = {
      ...(source !== undefined && { source }),
      ...(name !== undefined && { exportName: name }),
      ...(label && { labels: label }),
    };
    const { warnings } = workflow ?? graph;
    const own = {
      ...(runId !== undefined && { runId }),
      ...(budget !== undefined && { budget }),
      ...(by !== undefined && { by }),
    };
    return startGraph(context, graph, runInput, { meta, detach, warnings, ...own });
  },
};
