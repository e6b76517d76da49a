/** `cairn convert` */
import { perform } from '../../operations/declare/perform.ts';
import { convertWorkflow, type ConvertWorkflowInput } from '../../operations/workflows/convert-workflow.ts';
import type { FieldsOf } from '../../operations/declare/operation.ts';
import type { Command } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { readTextFile } from '../text-file.ts';

interface ConvertArguments extends Pick<ConvertWorkflowInput, 'to'> {
  readonly file: string;
}

const fields: FieldsOf<ConvertArguments> = {
  to: convertWorkflow.input.to,
  file: { type: 'text', description: 'a workflow in YAML', isRequired: true, isPositional: true },
};

export const convertCommand: Command<ConvertArguments> = {
  name: convertWorkflow.name,
  summary: convertWorkflow.summary,
  fields,
  details:
    'Files with {{ }} run as they are. The converted file says the same with ${ }, comments and order kept; what has no counterpart is told with its place.',
  examples: [{ line: 'cairn convert --to cairn review.yaml > review.cairn.yaml', does: 'to go on with in this form' }],
  execute(session, { file, to }) {
    return withApp({ ...session, storeUrl: 'memory:' }, async (app) => {
      const text = readTextFile(session.cwd, file);
      const converted = await perform(convertWorkflow, app, { text, source: file, to });
      if (session.isJson) session.printJson(converted);
      else session.screen.print(converted.text.replace(/\n$/, ''));
      return 0;
    });
  },
};
