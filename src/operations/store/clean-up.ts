/** The operation `cleanup`: removes runs and checkpoints that the settings of their workflow do not keep; docs/guide/cleanup.md. */
import type { CheckpointSettings } from '../../dialects/text-workflow.ts';
import { cleanUpDefaults, cleanUpPlace, type CleanUpReport } from '../../history/retention/clean-up.ts';
import type { RunRow } from '../../ports/store.ts';
import { listOf, objectOf, oneOf, text, time, described, whole } from '../contract/output-shapes.ts';
import type { Operation, WorkContext } from '../contract/operation.ts';

export type { CleanUpReport } from '../../history/retention/clean-up.ts';

export interface CleanUpInput {
  /** Only runs of this graph. */
  readonly workflow?: string;
  readonly dryRun?: boolean;
  /** Give free room back to the file system. */
  readonly vacuum?: boolean;
}

export interface CleanUpContext extends WorkContext {
  /** The settings for a run's workflow; undefined if nothing of it may be removed. */
  readonly settingsOf: (run: RunRow) => Promise<CheckpointSettings | undefined>;
}

/** Defaults for settings that are absent. */
export const defaultSettings: Required<Omit<CheckpointSettings, 'max_checkpoint_size_mb' | 'retention'>> = {
  ...cleanUpDefaults,
  enabled: true,
  auto_cleanup: true,
  cleanup_interval_seconds: 3_600,
};

export const cleanUp: Operation<CleanUpInput, CleanUpReport, CleanUpContext> = {
  name: 'clean_up',
  command: 'cleanup',
  summary: 'remove runs and checkpoints that are older than their settings keep them',
  input: {
    workflow: { type: 'text', description: 'only of this workflow' },
    dryRun: { type: 'flag', description: 'say what would go, and leave it' },
    vacuum: {
      type: 'flag',
      description: 'give the room that is left back to the file system; nothing is written meanwhile',
    },
  },
  output: 'what went',
  outputSchema: objectOf(
    {
      counts: described(
        objectOf({
          graphs: described(whole, 'how many workflows have settings'),
          removed: described(whole, 'how many runs went'),
          pruned: described(whole, 'how many runs were shortened'),
          checkpoints: described(whole, 'how many checkpoints went from these'),
          skipped: described(whole, 'how many runs stay though they would have gone'),
        }),
        'of everything; each list names the first 1,000',
      ),
      removed: listOf(objectOf({ runId: text, graphId: text, endedAt: time })),
      pruned: listOf(
        objectOf({ runId: text, graphId: text, checkpoints: described(whole, 'how many checkpoints went') }),
      ),
      skipped: listOf(objectOf({ runId: text, because: oneOf('busy', 'forked', 'kept', 'tagged') })),
      blobs: whole,
    },
    { blobsLeft: whole, space: objectOf({ sizeBytes: whole, freeBytes: whole }), freedBytes: whole },
  ),
  isReadOnly: false,
  scope: 'admin',
  async run(context, { workflow, dryRun = false, vacuum = false }) {
    const only = workflow === undefined ? {} : { graphId: workflow };
    const { settingsOf, progressed } = context;
    return cleanUpPlace(context, settingsOf, { dryRun, vacuum, ...only, ...(progressed && { beat: progressed }) });
  },
};
