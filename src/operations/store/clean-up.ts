/** `cleanup`: keeps of each workflow's runs what its settings say, and no more; docs/guide/cleanup.md. */
import type { CheckpointSettings } from '../../dialects/text-workflow.ts';
import { cleanUpDefaults, cleanUpPlace, type CleanUpReport } from '../../history/shorten/clean-up.ts';
import type { RunRow } from '../../ports/store.ts';
import { listOf, objectOf, oneOf, text, whole } from '../declare/output-shapes.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';

export type { CleanUpReport } from '../../history/shorten/clean-up.ts';

export interface CleanUpInput {
  /** Only runs of this graph. */
  readonly workflow?: string;
  readonly dryRun?: boolean;
}

export interface CleanUpContext extends WorkContext {
  /** How checkpoints of a run's workflow are kept; undefined: nobody has said that any should go. */
  readonly settingsOf: (run: RunRow) => Promise<CheckpointSettings | undefined>;
}

/** What holds where settings leave it open. */
export const defaultSettings: Required<Omit<CheckpointSettings, 'max_checkpoint_size_mb'>> = {
  ...cleanUpDefaults,
  enabled: true,
  auto_cleanup: true,
  cleanup_interval_seconds: 3_600,
};

export const cleanUp: Operation<CleanUpInput, CleanUpReport, CleanUpContext> = {
  name: 'cleanup',
  summary: 'remove runs and checkpoints that are older than their settings keep them',
  input: {
    workflow: { type: 'text', description: 'only of this workflow' },
    dryRun: { type: 'flag', description: 'say what would go, and leave it' },
  },
  output: 'what went',
  outputSchema: objectOf({
    removed: listOf(objectOf({ runId: text, graphId: text, endedAt: whole })),
    pruned: listOf(objectOf({ runId: text, graphId: text, checkpoints: whole })),
    left: listOf(objectOf({ runId: text, because: oneOf('busy', 'forked') })),
    blobs: whole,
  }),
  isReadOnly: false,
  async run(context, { workflow, dryRun = false }) {
    return cleanUpPlace(context, context.settingsOf, { dryRun, ...(workflow !== undefined && { graphId: workflow }) });
  },
};
