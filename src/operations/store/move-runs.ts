/** `export` and `import`: moves or copies a run between stores, as lines of text (H4). */
import { flag, objectOf, text, whole } from '../declare/output-shapes.ts';
import { exportRun as exportLines } from '../../history/move/export.ts';
import { importRun as importLines, type ImportReport } from '../../history/move/import.ts';
import { resolveReference } from '../../history/read/references.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';
import { withClaim } from '../runs/with-claim.ts';

export interface ExportRunInput {
  readonly checkpoint: string;
  readonly move?: boolean;
}

export interface ExportRunOutput {
  readonly runId: string;
  /** The last checkpoint exported. */
  readonly seq: number;
  readonly isMoved: boolean;
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
  },
  output: 'what was exported',
  outputSchema: objectOf({ runId: text, seq: whole, isMoved: flag }),
  isReadOnly: false,
  async run(context, { checkpoint, move = false }) {
    const { store, blobs, tenant, write, now } = context;
    const { run, seq } = await resolveReference(store, tenant, checkpoint);
    const { runId } = run;
    if (!move) {
      for await (const text of exportLines(store, blobs, run, { upTo: seq })) await write(text);
      return { runId, seq, isMoved: false };
    }
    return withClaim(context, run, async (claim, claimed) => {
      for await (const text of exportLines(store, blobs, claimed, { close: { claim, at: now() } })) await write(text);
      return { runId, seq: claimed.head, isMoved: true };
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
