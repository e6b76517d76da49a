/** The operation `signal`: sends a run a signal that it waits for now or later (W5). */
import { runField } from '../contract/fields.ts';
import { objectOf, text } from '../contract/output-shapes.ts';
import type { RoutedOperation, WorkContext } from '../contract/operation.ts';
import { doorOf } from '../contract/door.ts';
import { findRunToChange } from '../runs/find-run.ts';
import { refuseSignal } from '../runs/reserved-answers.ts';

export interface SignalRunInput {
  readonly run: string;
  readonly name: string;
  /** Value of the signal. Default null. */
  readonly value?: unknown;
  /** Id of the signal. Sending again with the same id has no effect. */
  readonly id?: string;
  readonly by?: string;
}

export interface SignalRunOutput {
  readonly runId: string;
  readonly name: string;
  /** Status of the run when the signal was stored. */
  readonly status: string;
}

export const signalRun: RoutedOperation<SignalRunInput, SignalRunOutput, WorkContext> = {
  name: 'send_signal',
  command: 'signal',
  summary: 'send a run a signal that it waits for, or will',
  details: 'A paused run goes on with it when it is resumed, or when a worker takes it up.',
  input: {
    run: runField(),
    name: { type: 'text', description: 'the name of the signal', isRequired: true, isPositional: true },
    value: { type: 'value', description: 'what it says; default null', isPositional: true },
    id: { type: 'text', description: 'an id: sent twice under one id, it is one signal' },
    by: { type: 'text', description: 'who sends it, for the record', isActor: true },
  },
  output: 'the run and the signal',
  outputSchema: objectOf({ runId: text, name: text, status: text }),
  isReadOnly: false,
  scope: 'run',
  route: 'POST /runs/{run}/signals',
  tool: {},
  next: ({ runId, status }) =>
    status === 'paused' ? [{ operation: 'resume_run', input: { run: runId }, why: 'go on' }] : [],
  /** @throws RUN_NOT_FOUND, RUN_FINISHED, SIGNAL_INVALID, ID_INVALID, VALUE_UNSTORABLE, ANSWER_RESERVED */
  async run(context, { run, name, value = null, id, by }) {
    const { runId, status } = await findRunToChange(context, run);
    refuseSignal(context, runId, name);
    const { isDetached: stays = false, isOnlyThis = false, posted } = context;
    await context.engine.signal(runId, name, value, {
      stays,
      isOnlyThis,
      ...doorOf(context),
      ...(id !== undefined && { id }),
      ...(by !== undefined && { by }),
    });
    posted?.(runId);
    return { runId, name, status };
  },
};
