/** `cairn import` */
import { perform } from '../../operations/contract/perform.ts';
import { createReadStream } from 'node:fs';
import type { App } from '../../app/open-app.ts';
import { CairnError } from '../../errors.ts';
import { importRun, type ImportAs } from '../../operations/store/move-runs.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import { fileFault } from '../files.ts';
import { type Command, ofOperation } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../../operations/format/terminal.ts';

interface ImportArguments extends ImportAs {
  readonly file: string;
}

const fields: FieldsOf<ImportArguments> = {
  file: { type: 'text', description: 'where from; - is standard input', isRequired: true, isPositional: true },
  ...importRun.input,
};

async function* readText(file: string): AsyncGenerator<string> {
  const stream = file === '-' ? process.stdin : createReadStream(file);
  stream.setEncoding('utf8');
  try {
    for await (const text of stream) yield text as string;
  } catch (error) {
    if (CairnError.is(error)) throw error;
    throw new CairnError(
      'USAGE_INVALID',
      { reason: `cannot read ${file}: ${fileFault(error, 'read')}`, hint: 'Name another file.' },
      { cause: error },
    );
  }
}

export const importCommand: Command<ImportArguments> = {
  ...ofOperation(importRun),
  fields,
  details:
    'What is imported is held to the grants of who goes on with it, like a text of a client; with --trust it may do what its text says. A copy is a run of its own, with its own id; a run exported with --move keeps its id. An import that was cut off is repeated with the same command.',
  examples: [
    { line: 'cairn import run.jsonl', does: 'a copy under a new id' },
    { line: 'cairn import run.jsonl --trust', does: 'a copy of a run of your own, which may run its commands' },
    { line: 'cairn import run.jsonl --move', does: 'the run itself' },
  ],
  runsConfig: true,
  execute(session, { file, ...input }) {
    const act = async (app: App): Promise<number> => {
      const output = await perform(importRun, { ...app, text: readText(file) }, input);
      if (session.isJson) session.printJson(output);
      else {
        const { runId, head, checkpoints, needs, isTrusted } = output;
        session.screen.print(`imported ${printable(runId)}@${head}, ${checkpoints} checkpoints`);
        if (needs.length > 0) {
          session.screen.print(
            isTrusted ? 'It may do what its text says:' : 'It may do only what --allow grants. It asks for:',
          );
          session.screen.print(...needs.map((need) => `  ${printable(need)}`));
        }
        session.screen.print(`See: ${session.commandLine('log', runId)}`);
      }
      return 0;
    };
    return withApp(session, act, { makesStore: true });
  },
};
