/** The operation `hold`: keeps runs from going on until somebody releases them. */
import { listOf, objectOf, text, described, whole } from '../contract/output-shapes.ts';
import { holdAllRuns, holdRun, type HeldRun } from '../../history/retention/held-runs.ts';
import type { HistoryContext, Operation } from '../contract/operation.ts';
import { findRunOrAll, type RunOrAllInput } from './run-or-all.ts';

export interface HoldRunsOutput {
  readonly held: readonly HeldRun[];
}

export const holdRuns: Operation<RunOrAllInput, HoldRunsOutput, HistoryContext> = {
  name: 'hold_runs',
  command: 'hold',
  summary: 'keep runs from going on until they are released: after a store was taken back to an earlier time',
  input: {
    run: { type: 'run', description: 'the run', isPositional: true },
    all: { type: 'flag', description: 'every run that is not over' },
  },
  output: 'the runs that are held now',
  outputSchema: objectOf({
    held: listOf(
      objectOf({ runId: text, graphId: text, status: text, head: described(whole, 'its newest checkpoint here') }),
    ),
  }),
  isReadOnly: false,
  scope: 'admin',
  /** @throws USAGE_INVALID the run is over, or there is neither a run nor `all`; RUN_NOT_FOUND */
  async run(context, input) {
    const run = await findRunOrAll(context, input, 'Name a run, or hold all that are not over with --all.');
    return { held: run === undefined ? await holdAllRuns(context) : [await holdRun(context.store, run)] };
  },
};
