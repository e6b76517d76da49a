/** `export` and `import`: moves or copies a run between stores, as lines of text (H4). */
import { CairnError } from '../../errors.ts';
import { flag, objectOf, text, whole } from '../declare/output-shapes.ts';
import { exportRun as exportLines } from '../../history/move/export.ts';
import { exportMasked } from '../../history/move/export-masked.ts';
import { importRun as importLines, type ImportReport } from '../../history/move/import.ts';
import { resolveReference } from '../../history/read/references.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';
import { withClaim } from '../runs/with-claim.ts';

export interface ExportRunInput {
  readonly checkpoint: string;
  readonly move?: boolean;
  readonly masked?: boolean;
}

export interface ExportRunOutput {
  readonly runId: string;
  /** The last checkpoint exported. */
  readonly seq: number;
  readonly isMoved: boolean;
  /** False: values stand there as they are stored, whatever they are called. */
  readonly isMasked: boolean;
}

/** Where the text goes, in pieces. */
export interface ExportContext extends WorkContext {
  readonly write: (text: string) => Promise<void>;
}

export interface ImportRunInput {
  readonly move?: boolean;
  readonly runId?: string;
}

/** Where the text comes from, in pieces. */
export interface ImportContext extends WorkContext {
  readonly text: AsyncIterable<string>;
}

export const exportRun: Operation<ExportRunInput, ExportRunOutput, ExportContext> = {
  name: 'export',
  summary: 'write a run with its history as text, to keep or to move it',
  input: {
    checkpoint: {
      type: 'text',
      description: 'the run; or a checkpoint, to export no more than what led to it',
      isRequired: true,
      isPositional: true,
    },
    move: { type: 'flag', description: 'close the run here, so that it goes on only where it is imported' },
    masked: {
      type: 'flag',
      description: 'to be read only: values under names of secrets are masked, and it cannot be imported',
    },
  },
  output: 'what was exported',
  outputSchema: objectOf({ runId: text, seq: whole, isMoved: flag, isMasked: flag }),
  isReadOnly: false,
  async run(context, { checkpoint, move = false, masked = false }) {
    if (move && masked)
      throw new CairnError('USAGE_INVALID', {
        reason: '--move and --masked were both given',
        hint: 'What is masked cannot be imported: export it without --masked to move it.',
      });
    const { store, blobs, tenant, write, now } = context;
    const { run, seq } = await resolveReference(store, tenant, checkpoint);
    const { runId } = run;
    if (!move) {
      const lines = masked ? exportMasked : exportLines;
      for await (const text of lines(store, blobs, run, { upTo: seq })) await write(text);
      return { runId, seq, isMoved: false, isMasked: masked };
    }
    return withClaim(context, run, async (claim, claimed) => {
      for await (const text of exportLines(store, blobs, claimed, { close: { claim, at: now() } })) await write(text);
      return { runId, seq: claimed.head, isMoved: true, isMasked: false };
    });
  },
};

export const importRun: Operation<ImportRunInput, ImportReport, ImportContext> = {
  name: 'import',
  summary: 'take in a run that was exported',
  input: {
    move: { type: 'flag', description: 'keep its id: it was exported with --move' },
    runId: { type: 'text', description: 'id of the copy; default: a new one' },
  },
  output: 'the run, as it is here',
  outputSchema: objectOf({ runId: text, checkpoints: whole, head: whole }),
  isReadOnly: false,
  run({ store, blobs, tenant, text, ids, now }, { move = false, runId }) {
    return importLines(store, blobs, text, {
      tenant,
      workerId: ids.workerId,
      ...(move ? { as: 'move' } : { as: 'copy', newRunId: runId ?? ids.createRunId(now()) }),
    });
  },
};
