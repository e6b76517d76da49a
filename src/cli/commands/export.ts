/** `cairn export` */
import { perform } from '../../operations/declare/perform.ts';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CairnError } from '../../errors.ts';
import { exportRun, type ExportRunInput } from '../../operations/store/move-runs.ts';
import type { FieldsOf } from '../../operations/declare/operation.ts';
import { fileFault } from '../file-fault.ts';
import type { Command } from '../command.ts';
import { exportFiles, type ExportFilesInput, type FilesContext } from '../../operations/store/export-files.ts';
import { withHistory } from '../../app/place/with-history.ts';
import type { Session } from '../session.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../text/printable.ts';
import { openWriter, writeAll } from '../write-out.ts';

interface ExportArguments extends ExportRunInput {
  readonly file?: string;
  readonly files?: string;
}

const { checkpoint, move, masked } = exportRun.input;
const fields: FieldsOf<ExportArguments> = {
  checkpoint,
  file: { type: 'text', description: 'where to; - is standard output', isPositional: true },
  files: { type: 'text', description: 'a new folder, in place of FILE: the run as files, to be read' },
  move,
  masked,
};

const unmaskedNote = 'Nothing in it is masked: only you may read the file. For others to read: --masked';
const maskedNote = 'For reading only: values under names of secrets are masked, and it cannot be imported.';

type Fill = (write: (text: string) => void) => Promise<void>;

/** Calls a function that uses the file, and names the file in the error if it fails. */
function reach<Result>(file: string, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    const reason = `cannot write ${file}: ${fileFault(error, 'write')}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name another file.' }, { cause: error });
  }
}

/** Writes a file atomically, readable by its owner only. */
async function writeWhole(file: string, fill: Fill): Promise<void> {
  const part = `${file}.${process.pid}.part`;
  const descriptor = reach(file, () => openSync(part, 'wx', 0o600));
  try {
    await fill((text) => reach(file, () => writeAll(descriptor, text)));
    reach(file, () => {
      fsyncSync(descriptor);
      closeSync(descriptor);
      renameSync(part, file);
    });
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

/** Writes into a pipe or device. A file put in its place would never reach its reader. */
async function writeInto(file: string, fill: Fill): Promise<void> {
  const descriptor = reach(file, () => openSync(file, 'w'));
  try {
    await fill((text) => reach(file, () => writeAll(descriptor, text)));
  } finally {
    closeSync(descriptor);
  }
}

function isOtherThanFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === false;
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
  name: exportRun.name,
  summary: exportRun.summary,
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
    return withApp(session, async (app) => {
      const act = (write: (text: string) => void): ReturnType<typeof exportRun.run> =>
        perform(exportRun, { ...app, write: (text) => Promise.resolve(write(text)) }, input);
      if (file === '-') {
        await act(openWriter(1));
        return 0;
      }
      await (isOtherThanFile(file) ? writeInto : writeWhole)(file, async (write) => {
        const { runId, seq, isMoved, isMasked } = await act(write);
        if (session.isJson) session.printJson({ runId, seq, isMoved, isMasked, file });
        else {
          session.screen.print(`${isMoved ? 'moved' : 'exported'} ${printable(runId)}@${seq} to ${printable(file)}`);
          session.screen.note(session.screen.paint('dim', isMasked ? maskedNote : unmaskedNote));
        }
      });
      return 0;
    });
  },
};
