/** `cairn convert` */
import { perform } from '../../operations/declare/perform.ts';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CairnError } from '../../errors.ts';
import { convertWorkflow, type ConvertWorkflowInput } from '../../operations/workflows/convert-workflow.ts';
import type { FieldsOf } from '../../operations/declare/operation.ts';
import type { Command } from '../command.ts';
import { withApp } from '../live/follow.ts';

interface ConvertArguments extends Pick<ConvertWorkflowInput, 'to'> {
  readonly file: string;
}

const fields: FieldsOf<ConvertArguments> = {
  to: convertWorkflow.input.to,
  file: { type: 'text', description: 'a workflow in YAML', isRequired: true, isPositional: true },
};

function readText(cwd: string, file: string): string {
  try {
    return readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    const reason = `cannot read ${file}: ${(error as Error).message}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name another file.' }, { cause: error });
  }
}

export const convertCommand: Command<ConvertArguments> = {
  name: convertWorkflow.name,
  summary: convertWorkflow.summary,
  fields,
  details:
    'Files with {{ }} run as they are. The converted file says the same with ${ }, comments and order kept; what has no counterpart is told with its place.',
  examples: [{ line: 'cairn convert --to cairn review.yaml > review.cairn.yaml', does: 'to go on with in this form' }],
  execute(session, { file, to }) {
    return withApp({ ...session, storeUrl: 'memory:' }, async (app) => {
      const text = readText(session.cwd, file);
      const converted = await perform(convertWorkflow, app, { text, source: file, to });
      if (session.isJson) session.printJson(converted);
      else session.screen.print(converted.text.replace(/\n$/, ''));
      return 0;
    });
  },
};
