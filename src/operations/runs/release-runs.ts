/** The operation `release`: lets runs go on that are held. */
import { listOf, objectOf, text, texts, whole } from '../contract/output-shapes.ts';
import { releaseAllRuns, releaseRun, type ReleasedRun } from '../../history/retention/held-runs.ts';
import type { HistoryContext, Operation } from '../contract/operation.ts';
import { findRunOrAll, type RunOrAllInput } from './run-or-all.ts';

export interface ReleaseRunsOutput {
  readonly released: readonly ReleasedRun[];
}

export const releaseRuns: Operation<RunOrAllInput, ReleaseRunsOutput, HistoryContext> = {
  name: 'release_runs',
  command: 'release',
  summary: 'let runs go on that are held: of a restored backup, or a copied store',
  input: {
    run: { type: 'run', description: 'the run', isPositional: true },
    all: { type: 'flag', description: 'every run that is held' },
  },
  output: 'the runs released, and what is in doubt in them',
  outputSchema: objectOf({
    released: listOf(objectOf({ runId: text, graphId: text, status: text, head: whole, inDoubt: texts })),
  }),
  isReadOnly: false,
  scope: 'admin',
  /** @throws USAGE_INVALID the run is not held, or there is neither a run nor `all`; RUN_NOT_FOUND */
  async run(context, input) {
    const run = await findRunOrAll(context, input, 'Name a run, or release all that are held with --all.');
    return { released: run === undefined ? await releaseAllRuns(context) : [await releaseRun(context, run)] };
  },
};
