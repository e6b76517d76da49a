/** `cairn export` */
import { perform } from '../../operations/contract/perform.ts';
import { resolve } from 'node:path';
import { CairnError } from '../../errors.ts';
import { exportRun, type ExportContext, type ExportRunInput } from '../../operations/store/move-runs.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import { type Command, ofOperation } from '../command.ts';
import type { Session } from '../session.ts';
import { exportFiles, type ExportFilesInput, type FilesContext } from '../../operations/store/export-files.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { createSystemIds } from '../../app/process/process-ids.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../../operations/format/terminal.ts';
import { openOwnFile, openWriter } from '../files.ts';

interface ExportArguments extends ExportRunInput {
  readonly file?: string;
  readonly files?: string;
}

const { checkpoint, move, masked, fixture, mask } = exportRun.input;
const fields: FieldsOf<ExportArguments> = {
  checkpoint,
  file: { type: 'text', description: 'where to; - is standard output', isPositional: true },
  files: { type: 'text', description: 'a new folder, in place of FILE: the run as files, to be read' },
  move,
  masked,
  fixture,
  mask,
};

const unmaskedNote = 'Nothing in it is masked: only you may read the file. For others to read: --masked';
const fixtureNote = 'What looks like a secret is masked: look through it before others read it.';
const maskedNote = 'For reading only: values under names of secrets are masked, and it cannot be imported.';

const noteOf = (isFixture: boolean, isMasked: boolean): string =>
  isFixture ? fixtureNote : isMasked ? maskedNote : unmaskedNote;

/** A store with its histories. */
type Place = Omit<ExportContext, 'write'>;

/** Opens the store for reading only, as a copy needs no more; a run that is moved is closed under a claim. */
function withPlace(session: Session, act: (place: Place) => Promise<number>): Promise<number> {
  return withHistory(session, (context) => act({ ...context, ids: createSystemIds() }));
}

/** The run as files, for reading. */
function exportFolder(session: Session, input: ExportFilesInput): Promise<number> {
  return withHistory(session, async (context) => {
    const { writeRunFolder } = await import('../../app/run-folder/run-folder.ts');
    const writeFolder: FilesContext['writeFolder'] = (place, found, folder) =>
      writeRunFolder(place, found, resolve(session.cwd, folder), { workspaces: [session.cwd] });
    const output = await perform(exportFiles, { ...context, writeFolder }, input);
    if (session.isJson) session.printJson(output);
    else {
      const { folder, checkpoints, visits } = output;
      session.screen.print(`wrote ${checkpoints} checkpoints and ${visits} visits to ${printable(folder)}`);
      session.screen.note(session.screen.paint('dim', maskedNote));
    }
    return 0;
  });
}

export const exportCommand: Command<ExportArguments> = {
  ...ofOperation(exportRun),
  fields,
  details:
    'The text holds the checkpoints, tags, open waits and blobs of the run, its ancestors included; each line is checked when it is imported. Nothing in it is masked, and a file is for its owner alone; with --masked it is for reading.',
  examples: [
    { line: 'cairn export 0198c2f4 --files ../runs/0198c2f4', does: 'a folder with prompts, answers and checkpoints' },
    { line: 'cairn export 0198c2f4 run.jsonl', does: 'a copy to keep' },
    { line: 'cairn export 0198c2f4 - --move | ssh other cairn import - --move', does: 'let it go on elsewhere' },
  ],
  execute(session, { file, files, ...input }) {
    if (files !== undefined) return exportFolder(session, { checkpoint: input.checkpoint, files });
    if (file === undefined)
      throw new CairnError('USAGE_INVALID', {
        reason: 'FILE is missing',
        hint: 'Name a file, - for standard output, or a folder with --files.',
      });
    const open = input.move === true ? withApp : withPlace;
    return open(session, async (place: Place) => {
      const act = (write: (text: string) => void): ReturnType<typeof exportRun.run> =>
        perform(exportRun, { ...place, write: (text) => Promise.resolve(write(text)) }, input);
      if (file === '-') {
        await act(openWriter(1));
        return 0;
      }
      const own = openOwnFile(session.cwd, file);
      try {
        const { runId, seq, isMoved, isMasked } = await act((text) => own.write(text));
        own.commit();
        if (session.isJson) session.printJson({ runId, seq, isMoved, isMasked, file });
        else {
          session.screen.print(`${isMoved ? 'moved' : 'exported'} ${printable(runId)}@${seq} to ${printable(file)}`);
          session.screen.note(session.screen.paint('dim', noteOf(input.fixture === true, isMasked)));
        }
      } catch (error) {
        own.abandon();
        throw error;
      }
      return 0;
    });
  },
};
