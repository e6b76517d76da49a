/** The operation `rm`: removes a run and everything that belongs to it. */
import { runField } from '../contract/fields.ts';
import { objectOf, texts, whole } from '../contract/output-shapes.ts';
import { removeRun as remove, type RemovedRuns } from '../../history/retention/remove-run.ts';
import { findRunToChange } from './find-run.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';

export interface RemoveRunInput {
  readonly run: string;
  readonly withForks?: boolean;
  readonly dryRun?: boolean;
}

export const removeRun: RoutedOperation<RemoveRunInput, RemovedRuns, HistoryContext> = {
  name: 'remove_run',
  command: 'rm',
  summary: 'remove a run with its history',
  input: {
    run: runField(),
    withForks: { type: 'flag', description: 'remove the runs forked from it too' },
    dryRun: { type: 'flag', description: 'say what would go, and leave it' },
  },
  output: 'the runs removed',
  outputSchema: objectOf({ removed: texts, blobs: whole }, { blobsLeft: whole }),
  isReadOnly: false,
  scope: 'admin',
  route: 'DELETE /runs/{run}',
  async run(context, { run, withForks = false, dryRun = false }) {
    return remove(context, (await findRunToChange(context, run)).runId, { withForks, dryRun });
  },
};
