/** `cancel`: ends a run; its history stays. */
import { objectOf, text } from '../declare/output-shapes.ts';
import { findRun } from './find-run.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';

export interface CancelRunInput {
  readonly run: string;
}

export interface CancelRunOutput {
  readonly runId: string;
  /** `running`: its owner was asked and has yet to end it. */
  readonly status: string;
}

export const cancelRun: Operation<CancelRunInput, CancelRunOutput, WorkContext> = {
  name: 'cancel',
  summary: 'end a run; its history stays',
  input: { run: { type: 'text', description: 'the run', isRequired: true, isPositional: true } },
  output: 'the run and its status',
  outputSchema: objectOf({ runId: text, status: text }),
  isReadOnly: false,
  async run(context, { run }) {
    const { runId } = await findRun(context, run);
    await context.engine.cancel(runId);
    const row = await findRun(context, runId);
    return { runId, status: row.status };
  },
};
