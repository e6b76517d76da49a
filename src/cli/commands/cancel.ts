/** `cairn cancel` */
import { perform } from '../../operations/contract/perform.ts';
import { type Command, ofOperation } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../../operations/format/terminal.ts';
import { CairnError, commandText } from '../../errors.ts';
import type { WorkContext } from '../../operations/contract/operation.ts';
import { cancelRun, type CancelRunInput } from '../../operations/runs/cancel-run.ts';

export const cancelCommand: Command<CancelRunInput> = {
  ...ofOperation(cancelRun),
  details:
    'If a process is working on the run, it is asked to end it: what runs is stopped, what has finished stays. If the workflow says what follows a cancel (onCancel), that runs next, and the run is cancelling until it has ended. A cancelled run can be forked.',
  examples: [
    { line: 'cairn cancel 0198c2f4', does: 'end the run' },
    { line: 'cairn cancel 0198c2f4 --reason "the customer changed her mind"', does: 'end it, and record why' },
    { line: 'cairn cancel 0198c2f4 --force', does: 'give up on what follows the cancel' },
  ],
  runsConfig: true,
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(cancelRun, app, input);
      const { runId } = output;
      const status = output.status === 'cancelling' ? await endOf(app, runId) : output.status;
      if (session.isJson) session.printJson({ ...output, status });
      else session.screen.print(formatStatus(runId, status));
      return 0;
    });
  },
};

/** Waits for what follows the cancel, if that runs in this process; otherwise says that it has yet to end. */
async function endOf({ engine }: WorkContext, runId: string): Promise<string> {
  try {
    return (await (await engine.resume(runId, { retryFailed: false })).result()).status;
  } catch (error) {
    if (CairnError.is(error, 'RUN_CANCELLED')) return 'cancelled';
    // Another process has the run, or its workflow is not known here.
    if (CairnError.is(error, 'CLAIM_TAKEN', 'CONFIG_INVALID')) return 'cancelling';
    throw error;
  }
}

function formatStatus(id: string, status: string): string {
  const run = printable(id);
  if (status === 'cancelled') return `cancelled ${run}`;
  if (status === 'cancelling')
    return `${run} is cancelling: what follows a cancel has yet to end; ${printable(commandText('log', id))}`;
  if (status === 'failed')
    return `what follows the cancel of ${run} failed: ${printable(commandText('resume', id))} tries it again, ${printable(commandText('cancel', '--force', id))} gives it up`;
  if (status === 'paused') return `what follows the cancel of ${run} waits: cairn inbox says for what`;
  return `asked the owner of ${run} to cancel it; it is ${status}`;
}
