/** `export --files`: a run as a folder of files. */
import { checkpointField } from '../contract/fields.ts';
import { objectOf, text, whole } from '../contract/output-shapes.ts';
import { resolveReference, type ResolvedReference } from '../../history/read/references.ts';
import type { HistoryContext, Operation } from '../contract/operation.ts';

export interface ExportFilesInput {
  readonly checkpoint: string;
  readonly files: string;
}

export interface ExportFilesOutput {
  readonly folder: string;
  readonly checkpoints: number;
  readonly visits: number;
  readonly artifacts: number;
}

/** Adds what writes the folder: an operation writes no files itself. */
export interface FilesContext extends HistoryContext {
  readonly writeFolder: (place: HistoryContext, found: ResolvedReference, folder: string) => Promise<ExportFilesOutput>;
}

export const exportFiles: Operation<ExportFilesInput, ExportFilesOutput, FilesContext> = {
  name: 'export_files',
  summary: 'write a run as a folder of files, to be read',
  input: {
    checkpoint: checkpointField('the run, or a checkpoint of it'),
    files: { type: 'text', description: 'the folder', isRequired: true },
  },
  output: 'what was written',
  outputSchema: objectOf({ folder: text, checkpoints: whole, visits: whole, artifacts: whole }),
  isReadOnly: true,
  scope: 'admin',
  async run(context, { checkpoint, files }) {
    return context.writeFolder(context, await resolveReference(context.store, context.tenant, checkpoint), files);
  },
};
