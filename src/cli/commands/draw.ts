/** `cairn draw` */
import { perform } from '../../operations/contract/perform.ts';
import { workflowsField, type Command, ofOperation } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../../operations/format/terminal.ts';
import { draw, type DrawInput } from '../../operations/workflows/draw.ts';
import { writeOwnFile } from '../files.ts';

interface DrawArguments extends DrawInput {
  readonly out?: string;
  readonly workflows?: readonly string[];
}

export const drawCommand: Command<DrawArguments> = {
  ...ofOperation(draw),
  fields: {
    ...draw.input,
    out: { type: 'text', description: 'the file to write; default: the SVG is printed' },
    workflows: workflowsField,
  },
  details: 'Of a run, what was not reached is pale, and edges that were taken are bold.',
  examples: [
    { line: 'cairn draw release.dot --out release.svg', does: 'a pipeline, before it is run' },
    { line: 'cairn draw 0198c2f4 --out run.svg', does: 'a run, coloured by what happened' },
  ],
  execute(session, { out, workflows, ...input }) {
    return withApp(
      session,
      async (app) => {
        const output = await perform(draw, app, input);
        if (out !== undefined) writeOwnFile(session.cwd, out, `${output.svg}\n`);
        if (session.isJson) session.printJson(output);
        else if (out === undefined) session.screen.print(output.svg);
        else session.screen.print(`drew ${printable(input.target)} to ${printable(out)}`);
        return 0;
      },
      { workflows },
    );
  },
};
