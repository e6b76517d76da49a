/** `cairn convert` */
import type { FieldsOf } from '../../operations/contract/operation.ts';
import { perform } from '../../operations/contract/perform.ts';
import {
  convertWorkflow,
  type ConvertWorkflowInput,
  type ConvertWorkflowOutput,
} from '../../operations/workflows/convert-workflow.ts';
import { withoutStore } from '../session.ts';
import { type Command, ofOperation } from '../command.ts';
import { withApp } from '../live/follow.ts';
import type { Screen } from '../screen.ts';
import { printable } from '../../operations/format/terminal.ts';
import { isModule, readTextFile } from '../files.ts';

interface ConvertArguments extends Pick<ConvertWorkflowInput, 'to' | 'strict' | 'export'> {
  readonly file: string;
}

const { to, strict, export: exported } = convertWorkflow.input;
const fields: FieldsOf<ConvertArguments> = {
  to,
  strict,
  export: exported,
  file: {
    type: 'text',
    description: 'a workflow in YAML, a pipeline in DOT, or a module that exports a graph',
    isRequired: true,
    isPositional: true,
  },
};

export const convertCommand: Command<ConvertArguments> = {
  ...ofOperation(convertWorkflow),
  fields,
  details:
    'What does not carry over is told on stderr, with its place; a person stands in for code. The exit code is 0 all the same, and 2 with --strict. `--to cairn` writes a file with {{ }} as one with ${ }, comments and order kept.',
  examples: [
    { line: 'cairn convert --to dot release.yaml > release.dot', does: 'a workflow as a pipeline' },
    { line: 'cairn convert --to yaml --strict release.dot', does: 'only if nothing is lost' },
    { line: 'cairn convert --to cairn review.yaml > review.cairn.yaml', does: 'to go on with in this form' },
  ],
  execute(session, { file, ...input }) {
    return withApp(
      withoutStore(session),
      async (app) => {
        const text = isModule(file) ? {} : { text: readTextFile(session.cwd, file) };
        const converted = await perform(convertWorkflow, app, { ...text, ...input, source: file });
        if (session.isJson) session.printJson(converted);
        else {
          session.screen.print(converted.text.replace(/\n$/, ''));
          tellNotes(session.screen, converted.notes);
        }
        return 0;
      },
      { readsConfig: !isModule(file) },
    );
  },
};

function tellNotes({ note, paint }: Screen, notes: ConvertWorkflowOutput['notes']): void {
  for (const { code, severity, place, message, fix } of notes)
    note(
      `${printable(place)}  ${paint(severity === 'lost' ? 'bad' : 'dim', severity)}  ${printable(message)}  ${paint('dim', `[${code}]`)}`,
      `  ${paint('dim', printable(fix))}`,
    );
}
