/** The operations `export` and `import`: move or copy a run between stores as lines of text (H4). */
import { checkpointField } from '../contract/fields.ts';
import { flag, objectOf, text, texts, whole } from '../contract/output-shapes.ts';
import { readGraphText } from '../../engine/commands/find-graph.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import { exportFrom, type ExportReport } from '../../history/export-import/export-from.ts';
import type { ImportReport } from '../../history/export-import/import.ts';
import type { WritePlace } from '../../history/access/place.ts';
import { importInto, type ImportAs } from '../../history/export-import/import-into.ts';
import { resolveReference } from '../../history/read/references.ts';
import type { Operation, WorkContext } from '../contract/operation.ts';

export type { ImportAs } from '../../history/export-import/import-into.ts';

export interface ExportRunInput {
  readonly checkpoint: string;
  readonly move?: boolean;
  readonly masked?: boolean;
  readonly fixture?: boolean;
  readonly mask?: readonly string[];
}

/** Adds a function that receives the text in pieces. */
export interface ExportContext extends WritePlace {
  readonly write: (text: string) => Promise<void>;
}

/** Adds the text to import, in pieces. */
export interface ImportContext extends WorkContext {
  readonly text: AsyncIterable<string>;
}

export const exportRun: Operation<ExportRunInput, ExportReport, ExportContext> = {
  name: 'export_run',
  command: 'export',
  summary: 'write a run with its history as text, to keep or to move it',
  input: {
    checkpoint: checkpointField('the run; or a checkpoint, to export no more than what led to it'),
    move: { type: 'flag', description: 'close the run here, so that it goes on only where it is imported' },
    masked: {
      type: 'flag',
      description: 'to be read only: values under names of secrets are masked, and it cannot be imported',
    },
    fixture: { type: 'flag', description: 'for tests: what looks like a secret is masked, and it can be imported' },
    mask: { type: 'texts', description: 'with --fixture: a further name whose values are masked' },
  },
  output: 'what was exported',
  outputSchema: objectOf({ runId: text, seq: whole, isMoved: flag, isMasked: flag }),
  isReadOnly: false,
  scope: 'admin',
  async run(context, { checkpoint, move = false, masked = false, fixture = false, mask = [] }) {
    const found = await resolveReference(context.store, context.tenant, checkpoint);
    const pieces = exportFrom(context, found, { move, masked, fixture, mask });
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

export interface ImportRunOutput extends ImportReport {
  /** Whether it may do what its text says. If not, it is checked against the grants of whoever goes on with it. */
  readonly isTrusted: boolean;
  /** What it reaches for: commands, hosts, files, models, and the module that its graph is in. A line each. */
  readonly needs: readonly string[];
}

/** What an imported run would do, for the person who is to trust it or not. */
async function needsOfRun(context: ImportContext, runId: string): Promise<readonly string[]> {
  const run = await context.store.readRun({ tenant: context.tenant, runId });
  if (run === undefined) return [];
  const { source } = metaOf(run);
  const text = await readGraphText(context, run);
  if (text !== undefined) return context.needsOf(text);
  return source === undefined ? [] : [`module ${source}`];
}

export const importRun: Operation<ImportAs, ImportRunOutput, ImportContext> = {
  name: 'import_run',
  command: 'import',
  summary: 'take in a run that was exported',
  input: {
    move: { type: 'flag', description: 'keep its id: it was exported with --move' },
    runId: { type: 'text', description: 'id of the copy; default: a new one' },
    trust: { type: 'flag', description: 'let it do what its text says; default: it is held to --allow' },
  },
  output: 'the run, as it is here',
  outputSchema: objectOf({ runId: text, checkpoints: whole, head: whole, isTrusted: flag, needs: texts }),
  isReadOnly: false,
  scope: 'admin',
  async run(context, options) {
    const report = await importInto(context, context.text, options);
    return { ...report, isTrusted: options.trust === true, needs: await needsOfRun(context, report.runId) };
  },
};
