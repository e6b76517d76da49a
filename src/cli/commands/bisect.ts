/** `cairn bisect` */
import { perform } from '../../operations/contract/perform.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { bisectRun, type BisectRunInput, type BisectRunOutput } from '../../operations/checkpoints/bisect-run.ts';
import { type Command, ofOperation } from '../command.ts';
import type { Session } from '../session.ts';
import { describeChange } from '../text/change-text.ts';
import { printable } from '../../operations/format/terminal.ts';
import { wrap } from '../text/width.ts';
import { formatTime } from '../../operations/format/time.ts';

function printBisection({ screen, commandLine }: Session, output: BisectRunOutput): void {
  const { runId, seq, when, found, read, evaluated, unanswered } = output;
  const cost = `${read} checkpoints read, evaluated at ${evaluated} of them`;
  if (found === undefined) screen.print(`${printable(when)} holds nowhere up to ${printable(runId)}@${seq}`);
  else {
    const name = `${found.runId}@${found.seq}`;
    screen.print(
      `${screen.paint('strong', printable(name))} is the first at which ${printable(when)}`,
      ...wrap(`  ${formatTime(found.at)}  ${describeChange(found.change)}`, screen.rowWidth),
    );
    const { within } = found;
    if (within !== undefined)
      screen.print(
        within.after === undefined
          ? '  All before it was pruned: it may have held before.'
          : `  ${within.after + 1}–${within.upTo} were pruned into it: it may have held in one of them.`,
      );
    screen.note(screen.paint('dim', `What it recorded: ${commandLine('show', name)}`));
  }
  if (unanswered !== undefined)
    screen.note(
      `At ${unanswered.count} checkpoints it could not be answered, first at ${unanswered.seq}: ${printable(unanswered.reason)}`,
    );
  screen.note(screen.paint('dim', cost));
}

export const bisectCommand: Command<BisectRunInput> = {
  ...ofOperation(bisectRun),
  details:
    'The condition reads status, input, scratch, artifacts, diagnostics, outputs and failures; a key that is not there yet counts as not holding. The exit code is 0 where one is found, else 1.',
  examples: [
    { line: "cairn bisect 0198c2f4 --when 'scratch.total > 100'", does: 'when the total went over 100' },
    { line: "cairn bisect 0198c2f4 --when 'has(failures.pay)' --json", does: 'when pay first failed, for a program' },
  ],
  execute(session, input) {
    return withHistory(session, async (context) => {
      const output = await perform(bisectRun, context, input);
      if (session.isJson) session.printJson(output);
      else printBisection(session, output);
      return output.found === undefined ? 1 : 0;
    });
  },
};
