/** `cairn lint`, `cairn fmt` */
import { errorTable } from '../../errors.ts';
import { perform } from '../../operations/contract/perform.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import { formatWorkflow, lintWorkflow } from '../../operations/workflows/lint-workflow.ts';
import { withoutStore } from '../session.ts';
import { type Command, ofOperation } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { writeOwnFile, readTextFile, isModule } from '../files.ts';
import { printable } from '../../operations/format/terminal.ts';

interface FileArguments {
  readonly file: string;
}

interface LintArguments extends FileArguments {
  readonly export?: string;
}

const fields: FieldsOf<FileArguments> = {
  file: { type: 'text', description: 'a pipeline in DOT, or a workflow in YAML', isRequired: true, isPositional: true },
};

export const lintCommand: Command<LintArguments> = {
  ...ofOperation(lintWorkflow),
  fields: {
    file: { ...fields.file, description: 'a pipeline in DOT, a workflow in YAML, or a module that exports a graph' },
    export: lintWorkflow.input.export,
  },
  details:
    'All findings are told at once. Warnings alone leave the exit code at 0. A module is loaded, and nothing in it is run.',
  examples: [
    { line: 'cairn lint release.dot', does: 'before it is run' },
    { line: 'cairn lint release.ts', does: 'a graph in TypeScript' },
    { line: 'cairn lint release.dot --json', does: 'for a program: rule, severity, place, message, fix' },
  ],
  execute(session, { file, export: exportName }) {
    return withApp(
      withoutStore(session),
      async (app) => {
        const options = isModule(file)
          ? { ...(exportName !== undefined && { export: exportName }) }
          : { text: readTextFile(session.cwd, file) };
        const { isValid, violations } = await perform(lintWorkflow, app, { source: file, ...options });
        const { print, note, paint } = session.screen;
        if (session.isJson) session.printJson({ isValid, violations });
        else if (violations.length === 0) note('Nothing to say.');
        else
          for (const { rule, severity, place, message, fix } of violations) {
            const [first = '', ...excerpt] = message.split('\n').map((line) => printable(line));
            print(
              `${printable(place)}  ${paint(severity === 'error' ? 'bad' : 'dim', severity)}  ${first}  ${paint('dim', `[${rule}]`)}`,
              ...excerpt.map((line) => `  ${line}`),
              `  ${paint('dim', printable(fix))}`,
            );
          }
        return isValid ? 0 : errorTable.GRAPH_INVALID.exit;
      },
      { readsConfig: !isModule(file) },
    );
  },
};

interface FormatArguments extends FileArguments {
  readonly write?: boolean;
}

export const fmtCommand: Command<FormatArguments> = {
  ...ofOperation(formatWorkflow),
  fields: {
    file: { ...fields.file, description: 'a pipeline in DOT' },
    write: { type: 'flag', description: 'into the file, in place of what is there' },
  },
  details: 'The graph that is read stays the same; comments are kept before what they stand at.',
  examples: [{ line: 'cairn fmt release.dot --write', does: 'before a commit' }],
  execute(session, { file, write = false }) {
    return withApp(
      withoutStore(session),
      async (app) => {
        const before = readTextFile(session.cwd, file);
        const { text } = await perform(formatWorkflow, app, { text: before, source: file });
        if (write && text !== before) writeOwnFile(session.cwd, file, text, { keepsMode: true });
        if (session.isJson) session.printJson({ text, isChanged: text !== before });
        else if (!write) session.screen.print(text.replace(/\n$/, ''));
        else session.screen.note(text === before ? `${file} is as it should be.` : `${file} is written.`);
        return 0;
      },
      { readsConfig: false },
    );
  },
};
