/** `cairn schema` */
import { withoutStore } from '../session.ts';
import type { Command } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { jsonText } from '../../operations/format/terminal.ts';

export const schemaCommand: Command = {
  name: 'schema',
  summary: 'print the JSON Schema of workflow files',
  fields: {},
  details:
    'With it editors complete and check workflow files. It is made from the blocks there are here, those of the configuration included.',
  examples: [
    { line: 'cairn schema > workflow.schema.json', does: 'keep it, for an editor' },
    {
      line: '# yaml-language-server: $schema=workflow.schema.json',
      does: 'the first line of a workflow, for editors that know this remark',
    },
  ],
  execute(session) {
    return withApp(withoutStore(session), async (app) => {
      const schema = await app.readSchema();
      session.screen.print(jsonText(schema, session.isJson ? 0 : 2));
      return 0;
    });
  },
};
