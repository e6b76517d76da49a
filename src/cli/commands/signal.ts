/** `cairn signal` */
import { perform } from '../../operations/contract/perform.ts';
import { type Command, ofOperation, printNext } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../../operations/format/terminal.ts';
import { signalRun, type SignalRunInput } from '../../operations/waits/signal-run.ts';

export const signalCommand: Command<SignalRunInput> = {
  ...ofOperation(signalRun),
  details:
    'The oldest wait for this name takes it; without one it is kept for the next. A paused run goes on with it by a worker or a resume. A run that is over refuses it, and so does a wait with a schema that it does not fit.',
  examples: [
    { line: 'cairn signal 0198c2f4 paid 40', does: 'what the step that waits for "paid" gets' },
    { line: `cairn signal 0198c2f4 paid '{"amount":40}' --id bank-7781`, does: 'once, however often it is sent' },
  ],
  runsConfig: true,
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(signalRun, app, input);
      if (session.isJson) session.printJson(output);
      else {
        session.screen.print(`sent ${printable(output.name)} to ${printable(output.runId)}`);
        printNext(session, signalRun.next?.(output));
      }
      return 0;
    });
  },
};
