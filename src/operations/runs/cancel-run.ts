/** The operation `cancel`: ends a run. Its history stays. */
import { objectOf, text } from '../declare/output-shapes.ts';
import { findRun } from './find-run.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';

export interface CancelRunInput {
  readonly run: string;
}

export interface CancelRunOutput {
  readonly runId: string;
  /** The run's status. `running` means that its owner was asked to cancel it and has not done so yet. */
  readonly status: string;
}

export const cancelRun: Operation<CancelRunInput, CancelRunOutput, WorkContext> = {
  name: 'cancel',
  summary: 'end a run; its history stays',
  input: { run: { type: 'text', description: 'the run', isRequired: true, isPositional: true } },
  output: 'the run and its status',
  outputSchema: objectOf({ runId: text, status: text }),
  isReadOnly: false,
  scope: 'run',
  route: 'POST /runs/{run}/cancel',
  async run(context, { run }) {
    const { runId } = await findRun(context, run);
    await context.engine.cancel(runId);
    const row = await findRun(context, runId);
    return { runId, status: row.status };
  },
};
