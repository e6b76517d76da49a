/** `signal`: tells a run something that it waits for, or will (W5). */
import { objectOf, text } from '../declare/output-shapes.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';
import { findRun } from '../runs/find-run.ts';

export interface SignalRunInput {
  readonly run: string;
  readonly name: string;
  /** Default null. */
  readonly value?: unknown;
  /** Makes a repeated send the same signal. */
  readonly id?: string;
}

export interface SignalRunOutput {
  readonly runId: string;
  readonly name: string;
  /** Where the run stood when the signal was kept. */
  readonly status: string;
}

export const signalRun: Operation<SignalRunInput, SignalRunOutput, WorkContext> = {
  name: 'signal',
  summary: 'send a run a signal that it waits for, or will',
  input: {
    run: { type: 'text', description: 'the run', isRequired: true, isPositional: true },
    name: { type: 'text', description: 'the name of the signal', isRequired: true, isPositional: true },
    value: { type: 'value', description: 'what it says; default null', isPositional: true },
    id: { type: 'text', description: 'an id: sent twice under one id, it is one signal' },
  },
  output: 'the run and the signal',
  outputSchema: objectOf({ runId: text, name: text, status: text }),
  isReadOnly: false,
  /** @throws RUN_NOT_FOUND, RUN_FINISHED, ID_INVALID, VALUE_UNSTORABLE */
  async run(context, { run, name, value = null, id }) {
    const { runId, status } = await findRun(context, run);
    await context.engine.signal(runId, name, value, id === undefined ? {} : { id });
    return { runId, name, status };
  },
};
