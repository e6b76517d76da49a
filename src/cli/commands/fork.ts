/** `cairn fork` */
import { perform } from '../../operations/contract/perform.ts';
import { forkRun, type ForkRunInput } from '../../operations/runs/fork-run.ts';
import { type Command, ofOperation, printNext } from '../command.ts';
import { follow } from '../live/follow.ts';
import { earlierText } from '../../operations/format/earlier-point.ts';
import { printable } from '../../operations/format/terminal.ts';
import { wrap } from '../text/width.ts';

export const forkCommand: Command<ForkRunInput> = {
  ...ofOperation(forkRun),
  details:
    'Recorded writes and answers are replayed in the fork, not made again, unless what they read has changed. See first: cairn preview.',
  examples: [
    { line: 'cairn fork 0198c2f4@12 --set scratch.tone=formal', does: 'go on from there with changed state' },
    { line: 'cairn fork 0198c2f4@0 --no-effects --file new.ts --run', does: 'try other code on the run: nothing acts' },
    { line: 'cairn fork 0198c2f4 --answer approve=no --run', does: 'answer a question otherwise, and run it' },
  ],
  runsConfig: true,
  execute(session, input) {
    const { file, export: exportName } = input;
    const resume = { ...(file !== undefined && { file }), ...(exportName !== undefined && { export: exportName }) };
    return follow(
      session,
      async (app) => {
        const { result, ...made } = await perform(forkRun, app, input);
        const { fork, from, earlier } = made;
        const { screen, isJson } = session;
        if (!isJson) {
          screen.print(`forked ${printable(fork.runId)}@${fork.seq} from ${printable(from.runId)}@${from.seq}`);
          if (earlier !== undefined) screen.note(...wrap(printable(earlierText(earlier)), screen.rowWidth));
        }
        if (result !== undefined) return result;
        if (isJson) session.printJson(made);
        else printNext(session, forkRun.next?.(made));
        return undefined;
      },
      { resume },
    );
  },
};
