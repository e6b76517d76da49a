/** The operations `export` and `import`: move or copy a run between stores as lines of text (H4). */
import { flag, objectOf, text, whole } from '../declare/output-shapes.ts';
import { exportFrom, type ExportReport } from '../../history/move/export-from.ts';
import type { ImportReport } from '../../history/move/import.ts';
import { importInto, type ImportAs } from '../../history/move/import-into.ts';
import { resolveReference } from '../../history/read/references.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';

export type { ImportAs } from '../../history/move/import-into.ts';

export interface ExportRunInput {
  readonly checkpoint: string;
  readonly move?: boolean;
  readonly masked?: boolean;
}

/** Adds a function that receives the text in pieces. */
export interface ExportContext extends WorkContext {
  readonly write: (text: string) => Promise<void>;
}

/** Adds the text to import, in pieces. */
export interface ImportContext extends WorkContext {
  readonly text: AsyncIterable<string>;
}

export const exportRun: Operation<ExportRunInput, ExportReport, ExportContext> = {
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
    const found = await resolveReference(context.store, context.tenant, checkpoint);
    const pieces = exportFrom(context, found, { move, masked });
    try {
      for (;;) {
        const { done, value } = await pieces.next();
        if (done === true) return value;
        await context.write(value);
      }
    } catch (error) {
      // If writing fails, the export is ended, so that a run that was being moved is opened again.
      await pieces.throw(error);
      throw error;
    }
  },
};

export const importRun: Operation<ImportAs, ImportReport, ImportContext> = {
  name: 'import',
  summary: 'take in a run that was exported',
  input: {
    move: { type: 'flag', description: 'keep its id: it was exported with --move' },
    runId: { type: 'text', description: 'id of the copy; default: a new one' },
  },
  output: 'the run, as it is here',
  outputSchema: objectOf({ runId: text, checkpoints: whole, head: whole }),
  isReadOnly: false,
  run(context, options) {
    return importInto(context, context.text, options);
  },
};
