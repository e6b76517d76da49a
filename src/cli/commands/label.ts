/** `cairn label` */
import { perform } from '../../operations/contract/perform.ts';
import { printable } from '../../operations/format/terminal.ts';
import { labelRun, type LabelRunInput } from '../../operations/runs/label-run.ts';
import { type Command, ofOperation } from '../command.ts';
import { withApp } from '../live/follow.ts';

export const labelCommand: Command<LabelRunInput> = {
  ...ofOperation(labelRun),
  examples: [
    { line: 'cairn label 0198c2f4 --set tier=gold --unset trial', does: 'of one run' },
    { line: 'cairn ls --label tier=gold', does: 'find it by that' },
    { line: 'cairn label --error NODE_TIMED_OUT --set redrive=monday', does: 'of all runs that a filter names' },
  ],
  runsConfig: true,
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(labelRun, app, input);
      const { runId, labels } = output;
      const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
      if (session.isJson) session.printJson(output);
      else session.screen.print(printable(`${runId}  ${pairs.length === 0 ? 'no labels' : pairs.join(' ')}`));
      return 0;
    });
  },
};
