/** The operation `release`: lets runs go on that are held. */
import { listOf, objectOf, text, texts, whole } from '../contract/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { releaseAllRuns, releaseRun, type ReleasedRun } from '../../history/retention/held-runs.ts';
import type { HistoryContext, Operation } from '../contract/operation.ts';
import { findRunToChange } from './find-run.ts';

export interface ReleaseRunsInput {
  readonly run?: string;
  readonly all?: boolean;
}

export interface ReleaseRunsOutput {
  readonly released: readonly ReleasedRun[];
}

export const releaseRuns: Operation<ReleaseRunsInput, ReleaseRunsOutput, HistoryContext> = {
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
  async run(context, { run, all = false }) {
    if ((run === undefined) !== all)
      throw new CairnError('USAGE_INVALID', {
        reason: all ? 'a run and --all were both given' : 'RUN is missing',
        hint: 'Name a run, or release all that are held with --all.',
      });
    if (run === undefined) return { released: await releaseAllRuns(context) };
    return { released: [await releaseRun(context, await findRunToChange(context, run))] };
  },
};
