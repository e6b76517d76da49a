/** The operation `rm`: removes a run and everything that belongs to it. */
import { runField } from '../contract/fields.ts';
import { described, objectOf, text, texts, whole } from '../contract/output-shapes.ts';
import { forgetRun, removeRun as remove, type RemovedRuns } from '../../history/retention/remove-run.ts';
import { findRunToChange } from './find-run.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';

export interface RemoveRunInput {
  readonly run: string;
  readonly withForks?: boolean;
  readonly dryRun?: boolean;
  readonly forget?: boolean;
}

export const removeRun: RoutedOperation<RemoveRunInput, RemovedRuns, HistoryContext> = {
  name: 'remove_run',
  command: 'rm',
  summary: 'remove a run with its history',
  input: {
    run: runField(),
    withForks: { type: 'flag', description: 'remove the runs forked from it too' },
    dryRun: { type: 'flag', description: 'say what would go, and leave it' },
    forget: { type: 'flag', description: 'let its id be used again at once, also if it was removed before' },
  },
  output: 'the runs removed',
  outputSchema: objectOf(
    { removed: texts, blobs: whole },
    { blobsLeft: whole, forgotten: described(text, 'a run that was removed before, whose id may be used again now') },
  ),
  isReadOnly: false,
  scope: 'admin',
  route: 'DELETE /runs/{run}',
  async run(context, { run, withForks = false, dryRun = false, forget = false }) {
    const forgotten = forget ? await forgetRun(context, run, dryRun) : undefined;
    if (forgotten !== undefined) return forgotten;
    return remove(context, (await findRunToChange(context, run)).runId, { withForks, dryRun, forget });
  },
};
