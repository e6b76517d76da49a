/** The operation `signal-with-start`: signals a run, and starts it first if there is none of its id (W5.7). */
import { CairnError } from '../../errors.ts';
import { exportField } from '../contract/fields.ts';
import { flag, objectOf, text } from '../contract/output-shapes.ts';
import type { RoutedOperation, WorkContext } from '../contract/operation.ts';
import { doorOf } from '../contract/door.ts';
import { refuseSignal } from '../runs/reserved-answers.ts';

interface SignalWithStartInput {
  readonly workflow: string;
  readonly export?: string;
  readonly runId: string;
  readonly name: string;
  /** Value of the signal. Default null. */
  readonly value?: unknown;
  readonly input?: unknown;
  readonly id?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly by?: string;
}

interface SignalWithStartOutput {
  readonly runId: string;
  readonly name: string;
  /** Whether the run was started with the signal. */
  readonly isNew: boolean;
}

export const signalWithStart: RoutedOperation<SignalWithStartInput, SignalWithStartOutput, WorkContext> = {
  name: 'signal_with_start',
  command: 'signal-with-start',
  summary: 'send a run a signal, and start it first if there is none',
  details:
    'In one write: a run that is started has its signal. A run that goes on takes the signal alone, whatever the input. One that has ended takes nothing (RUN_ENDED). A worker or a resume goes on with it.',
  input: {
    workflow: {
      type: 'text',
      description:
        'what to start: a workflow in YAML or DOT, the name of a known one, or a module that exports a graph',
      isRequired: true,
      isPositional: true,
    },
    runId: { type: 'text', description: 'id of the run', isRequired: true, isPositional: true },
    name: { type: 'text', description: 'the name of the signal', isRequired: true, isPositional: true },
    value: { type: 'value', description: 'what it says; default null', isPositional: true },
    export: exportField,
    input: { type: 'value', description: 'what the graph is given if it is started' },
    id: { type: 'text', description: 'an id: sent twice under one id, it is one signal' },
    label: { type: 'answers', description: 'a label of the run if it is started: user=ann' },
    by: { type: 'text', description: 'who sends it, for the record', isActor: true },
  },
  output: 'the run and the signal, and whether the run was started',
  outputSchema: objectOf({ runId: text, name: text, isNew: flag }),
  isReadOnly: false,
  scope: 'run',
  route: 'POST /signal-with-start',
  tool: {},
  next: ({ runId }) => [{ operation: 'resume_run', input: { run: runId }, why: 'go on' }],
  /** @throws RUN_ENDED, RUN_EXISTS, INPUT_INVALID, SIGNAL_INVALID, ID_INVALID, VALUE_UNSTORABLE, ANSWER_RESERVED, GRAPH_PARSE, GRAPH_INVALID */
  async run(context, { workflow, export: exportName, runId, name, value = null, input, id, label, by }) {
    if (runId === '') throw new CairnError('USAGE_INVALID', { reason: 'the id of the run is empty' });
    refuseSignal(context, runId, name);
    const { graph, source, exportName: found } = await context.loadGraph(workflow, exportName);
    const meta = {
      ...(source !== undefined && { source }),
      ...(found !== undefined && { exportName: found }),
      ...(label && { labels: label }),
    };
    const { isDetached: stays = false, isOnlyThis = false, posted, engine } = context;
    const { created } = await engine.signalWithStart(graph, runId, input, name, value, {
      ...doorOf(context),
      meta,
      detach: true,
      stays,
      isOnlyThis,
      ...(id !== undefined && { id }),
      ...(by !== undefined && { by }),
    });
    posted?.(runId);
    return { runId, name, isNew: created };
  },
};
