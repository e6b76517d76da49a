/** `cairn export` */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { CairnError } from '../../errors.ts';
import { exportRun, type ExportRunInput } from '../../operations/move-runs.ts';
import type { FieldsOf } from '../../operations/operation.ts';
import type { Command } from '../command.ts';
import { withApp } from '../follow.ts';
import { printable } from '../text/printable.ts';
import { openWriter } from '../write-out.ts';

interface ExportArguments extends ExportRunInput {
  readonly file: string;
}

const { checkpoint, move } = exportRun.input;
const fields: FieldsOf<ExportArguments> = {
  checkpoint,
  file: { type: 'text', description: 'where to; - is standard output', isRequired: true, isPositional: true },
  move,
};

/** Writes a file that is there whole or not at all, for the owner's eyes only. */
async function writeWhole(file: string, fill: (write: (text: string) => void) => Promise<void>): Promise<void> {
  const part = `${file}.${process.pid}.part`;
  let descriptor: number;
  try {
    descriptor = openSync(part, 'wx', 0o600);
  } catch (error) {
    throw new CairnError(
      'USAGE_INVALID',
      { reason: `cannot write ${file}: ${(error as Error).message}` },
      { cause: error },
    );
  }
  try {
    await fill((text) => void writeSync(descriptor, text));
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

export const exportCommand: Command<ExportArguments> = {
  name: exportRun.name,
  summary: exportRun.summary,
  fields,
  details:
    'The text holds the checkpoints, tags, open waits and blobs of the run, its ancestors included; each line is checked when it is imported.',
  examples: [
    { line: 'cairn export 0198c2f4 run.jsonl', does: 'a copy to keep' },
    { line: 'cairn export 0198c2f4 - --move | ssh other cairn import - --move', does: 'let it go on elsewhere' },
  ],
  execute(session, { file, ...input }) {
    return withApp(session, async (app) => {
      const act = (write: (text: string) => void): ReturnType<typeof exportRun.run> =>
        exportRun.run({ ...app, write: (text) => Promise.resolve(write(text)) }, input);
      if (file === '-') {
        await act(openWriter(1));
        return 0;
      }
      await writeWhole(file, async (write) => {
        const { runId, seq, isMoved } = await act(write);
        if (session.isJson) session.printJson({ runId, seq, isMoved, file });
        else session.screen.print(`${isMoved ? 'moved' : 'exported'} ${printable(runId)}@${seq} to ${printable(file)}`);
      });
      return 0;
    });
  },
};
