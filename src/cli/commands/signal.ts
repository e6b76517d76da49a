/** `cairn signal` */
import { perform } from '../../operations/declare/perform.ts';
import { signalRun, type SignalRunInput } from '../../operations/waits/signal-run.ts';
import type { Command } from '../session.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../text/terminal-text.ts';

export const signalCommand: Command<SignalRunInput> = {
  name: signalRun.name,
  summary: signalRun.summary,
  fields: signalRun.input,
  details:
    'The oldest wait for this name takes it; without one it is kept for the next. A paused run goes on with it by a worker or a resume. A run that is over refuses it.',
  examples: [
    { line: 'cairn signal 0198c2f4 paid 40', does: 'what the step that waits for "paid" gets' },
    { line: `cairn signal 0198c2f4 paid '{"amount":40}' --id bank-7781`, does: 'once, however often it is sent' },
  ],
  runsConfig: true,
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(signalRun, app, input);
      const { runId, name, status } = output;
      const { screen } = session;
      if (session.isJson) session.printJson(output);
      else screen.print(`sent ${printable(name)} to ${printable(runId)}`);
      if (status === 'paused' && !session.isJson)
        screen.print(`Go on: ${screen.paint('good', session.commandLine('resume', runId))}`);
      return 0;
    });
  },
};
