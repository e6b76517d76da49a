/** The operation `hold`: keeps runs from going on until somebody releases them. */
import { listOf, objectOf, text, told, whole } from '../contract/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { holdAllRuns, holdRun, type HeldRun } from '../../history/retention/held-runs.ts';
import type { HistoryContext, Operation } from '../contract/operation.ts';
import { findRunToChange } from './find-run.ts';

export interface HoldRunsInput {
  readonly run?: string;
  readonly all?: boolean;
}

export interface HoldRunsOutput {
  readonly held: readonly HeldRun[];
}

export const holdRuns: Operation<HoldRunsInput, HoldRunsOutput, HistoryContext> = {
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
      objectOf({ runId: text, graphId: text, status: text, head: told(whole, 'its newest checkpoint here') }),
    ),
  }),
  isReadOnly: false,
  scope: 'admin',
  /** @throws USAGE_INVALID the run is over, or there is neither a run nor `all`; RUN_NOT_FOUND */
  async run(context, { run, all = false }) {
    if ((run === undefined) !== all)
      throw new CairnError('USAGE_INVALID', {
        reason: all ? 'a run and --all were both given' : 'RUN is missing',
        hint: 'Name a run, or hold all that are not over with --all.',
      });
    if (run === undefined) return { held: await holdAllRuns(context) };
    return { held: [await holdRun(context.store, await findRunToChange(context, run))] };
  },
};
