/** The operation `prune`: removes checkpoints that nothing needs (C8). */
import { listOf, objectOf, text, texts, described, whole } from '../contract/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { pruneAllRuns, pruneOneRun, type PrunedRuns } from '../../history/retention/prune-runs.ts';
import { findRunToChange } from '../runs/find-run.ts';
import type { RoutedOperation, WorkContext } from '../contract/operation.ts';

export interface PruneRunsInput {
  readonly run?: string;
  readonly all?: boolean;
  readonly keepEvery?: number;
  readonly keepLast?: number;
  readonly dryRun?: boolean;
}

export const pruneRuns: RoutedOperation<PruneRunsInput, PrunedRuns, WorkContext> = {
  name: 'prune_runs',
  command: 'prune',
  summary: 'remove checkpoints that nothing needs, to save room',
  input: {
    run: { type: 'run', description: 'the run', isPositional: true },
    all: { type: 'flag', description: 'every run of the store' },
    keepEvery: { type: 'integer', description: 'keep each checkpoint whose seq is a multiple of N' },
    keepLast: { type: 'integer', description: 'keep the newest N', default: 1 },
    dryRun: { type: 'flag', description: 'say what would go, and leave it' },
  },
  output: 'what was removed',
  outputSchema: objectOf(
    {
      pruned: listOf(
        objectOf({
          runId: text,
          removed: described(whole, 'how many checkpoints went'),
          spans: listOf(objectOf({ from: whole, to: described(whole, 'where it ends') })),
          oldest: whole,
        }),
      ),
      runs: described(whole, 'how many runs were looked at'),
      checkpoints: described(whole, 'how many checkpoints went from all of them'),
      busy: texts,
      blobs: whole,
    },
    { blobsLeft: whole },
  ),
  isReadOnly: false,
  scope: 'admin',
  route: 'POST /runs/{run}/prune',
  async run(context, { run, all = false, keepEvery, keepLast, dryRun = false }) {
    if ((run === undefined) !== all)
      throw new CairnError('USAGE_INVALID', {
        reason: all ? 'a run and --all were both given' : 'RUN is missing',
        hint: 'Name a run, or prune all of them with --all.',
      });
    const options = {
      dryRun,
      ...(keepEvery !== undefined && { keepEvery }),
      ...(keepLast !== undefined && { keepLast }),
    };
    if (run === undefined) return pruneAllRuns(context, options, context.progressed);
    return pruneOneRun(context, await findRunToChange(context, run), options);
  },
};
