/** `cairn cancel` */
import { perform } from '../../operations/declare/perform.ts';
import { cancelRun, type CancelRunInput } from '../../operations/runs/cancel-run.ts';
import type { Command } from '../session.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../text/terminal-text.ts';

export const cancelCommand: Command<CancelRunInput> = {
  name: cancelRun.name,
  summary: cancelRun.summary,
  fields: cancelRun.input,
  details:
    'If a process is working on the run, it is asked to end it: what runs is stopped, what has finished stays. A cancelled run can be forked.',
  examples: [{ line: 'cairn cancel 0198c2f4', does: 'end the run' }],
  runsConfig: true,
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(cancelRun, app, input);
      if (session.isJson) session.printJson(output);
      else if (output.status === 'cancelled') session.screen.print(`cancelled ${printable(output.runId)}`);
      else session.screen.print(`asked the owner of ${printable(output.runId)} to cancel it; it is ${output.status}`);
      return 0;
    });
  },
};
