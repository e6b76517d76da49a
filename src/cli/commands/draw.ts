/** `cairn draw` */
import { perform } from '../../operations/declare/perform.ts';
import { drawDot } from '../../app/draw/draw-dot.ts';
import { draw, type DrawInput } from '../../operations/workflows/draw.ts';
import { workflowsField, type Command } from '../session.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../text/terminal-text.ts';
import { writeOwnFile } from '../files.ts';

interface DrawArguments extends DrawInput {
  readonly out?: string;
  readonly workflows?: readonly string[];
}

export const drawCommand: Command<DrawArguments> = {
  name: draw.name,
  summary: draw.summary,
  fields: {
    ...draw.input,
    out: { type: 'text', description: 'the file to write; default: the SVG is printed' },
    workflows: workflowsField,
  },
  details:
    'Graphviz draws it: npm install @viz-js/viz. Of a run, what was not reached is pale, and edges that were taken are bold.',
  examples: [
    { line: 'cairn draw release.dot --out release.svg', does: 'a pipeline, before it is run' },
    { line: 'cairn draw 0198c2f4 --out run.svg', does: 'a run, coloured by what happened' },
  ],
  execute(session, { out, workflows, ...input }) {
    return withApp(
      session,
      async (app) => {
        const output = await perform(draw, { ...app, drawDot }, input);
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
