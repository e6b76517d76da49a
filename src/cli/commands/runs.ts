/** `fork`, `resume`, `signal`, `cancel`, `release`, `rm`: what is done to a run as a whole. */
import { perform } from '../../operations/contract/perform.ts';
import { forkRun, type ForkRunInput } from '../../operations/runs/fork-run.ts';
import { type Command, allowField, noteNone, noteBlobs, type Session, ofOperation, printNext } from '../session.ts';
import { follow, withApp } from '../live/follow.ts';
import { earlierText } from '../../operations/format/earlier-point.ts';
import { printable } from '../../operations/format/terminal.ts';
import { wrap } from '../text/width.ts';
import { resumeRun, type ResumeRunInput } from '../../operations/runs/resume-run.ts';
import { signalRun, type SignalRunInput } from '../../operations/waits/signal-run.ts';
import { CairnError, commandText } from '../../errors.ts';
import type { WorkContext } from '../../operations/contract/operation.ts';
import { cancelRun, type CancelRunInput } from '../../operations/runs/cancel-run.ts';
import { holdRuns } from '../../operations/runs/hold-runs.ts';
import { releaseRuns } from '../../operations/runs/release-runs.ts';
import type { RunOrAllInput } from '../../operations/runs/run-or-all.ts';
import { removeRun } from '../../operations/runs/remove-run.ts';
import { deletionCommand, type PrintedReport } from '../live/delete.ts';
import { countOf } from '../../operations/format/amounts.ts';

// `cairn fork`

export const forkCommand: Command<ForkRunInput> = {
  ...ofOperation(forkRun),
  details:
    'Recorded writes and answers are replayed in the fork, not made again, unless what they read has changed. See first: cairn preview.',
  examples: [
    { line: 'cairn fork 0198c2f4@12 --set scratch.tone=formal', does: 'go on from there with changed state' },
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

// `cairn resume`

interface ResumeArguments extends ResumeRunInput {
  readonly allow?: readonly string[];
}

export const resumeCommand: Command<ResumeArguments> = {
  ...ofOperation(resumeRun, { allow: allowField }),
  details:
    'A workflow goes on from the definition that was kept with the run, other graphs are found where the run was started from. In a terminal, open questions are asked on the spot. A failed run tries again what failed; of an effect that may have happened it is asked first. A command that ended with an exit code is tried again with --retry, also where that was asked already.',
  examples: [
    { line: 'cairn resume 0198c2f4', does: 'go on; the beginning of an id will do' },
    { line: 'cairn resume 0198c2f4 --retry', does: 'run the failed command again' },
    { line: 'cairn resume 0198c2f4 --file moved/release.ts', does: 'the module is elsewhere now' },
  ],
  runsConfig: true,
  execute(session, { allow, ...input }) {
    // What a preview said is compared with the first resume, not with those after answers.
    const { run: _run, expect: _expect, ...resume } = input;
    return follow(session, (app) => perform(resumeRun, app, input), { run: input.run, resume, allow });
  },
};

// `cairn signal`

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

// `cairn cancel`

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

// `cairn hold`

export const holdCommand: Command<RunOrAllInput> = {
  ...ofOperation(holdRuns),
  details:
    'For a store that was taken back to an earlier time where it is: a server to a point in time, a folder or a volume to a snapshot. Stop the workers, hold all, look what the runs may have done since, then let them go on with cairn release. A store that was restored or copied to another place holds them by itself. Answers, signals and cancellations are kept meanwhile.',
  examples: [
    { line: 'cairn hold --all', does: 'no run goes on before it is released' },
    { line: 'cairn hold nightly', does: 'one run; a worker that has it loses it' },
  ],
  runsConfig: true,
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(holdRuns, app, input);
      const { screen, isJson } = session;
      if (isJson) session.printJson(output);
      else {
        for (const { runId, status, head } of output.held)
          screen.print(`held  ${printable(runId)}  ${status} at checkpoint ${head}`);
        if (output.held.length === 0) await noteNone(session, 'No run is there that could be held');
        else screen.note(`Let them go on: ${session.commandLine('release', input.run ?? '--all')}`);
      }
      return 0;
    });
  },
};

// `cairn release`

export const releaseCommand: Command<RunOrAllInput> = {
  ...ofOperation(releaseRuns),
  details:
    'A restore holds every run that was not over, since what it did after the backup is not in the backup; so does a store that was restored or copied to another place, and cairn hold. Released, a run goes on from its newest checkpoint: effects that it had after that may happen again, idempotent ones under the same keys; those that had begun by then are in doubt, as after a crash.',
  examples: [
    { line: 'cairn ls --status held', does: 'what is held' },
    { line: 'cairn release nightly', does: 'one run; a worker takes it up, or cairn resume nightly' },
    { line: 'cairn release --all', does: 'all of them' },
  ],
  runsConfig: true,
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(releaseRuns, app, input);
      if (session.isJson) session.printJson(output);
      else {
        for (const { runId, head, inDoubt } of output.released)
          session.screen.print(
            `${printable(runId)} goes on from checkpoint ${head}${inDoubt.length > 0 ? `; in doubt: ${printable(inDoubt.join(', '))}` : ''}`,
          );
        if (output.released.length === 0) await noteNone(session, 'No run is held');
        else
          session.screen.note(
            'What they did elsewhere, or later, is not in this store: it may happen again, under the same keys.',
          );
      }
      return 0;
    });
  },
};

// `cairn rm`

type Removed = Awaited<ReturnType<typeof removeRun.run>>;

async function print(session: Session, { removed, ...collected }: Removed, { isDry }: PrintedReport): Promise<void> {
  for (const runId of removed)
    session.screen.print(isDry ? `${printable(runId)}  would be removed` : `removed ${printable(runId)}`);
  noteBlobs(session, collected);
}

export const rmCommand = deletionCommand(removeRun, {
  details: 'What a fork still needs is not removed: forks are named, and go only with --with-forks.',
  examples: [
    { line: 'cairn rm 0198c2f4', does: 'remove one run' },
    { line: 'cairn rm 0198c2f4 --with-forks --dry-run', does: 'what would go with all that was forked from it' },
    { line: 'cairn rm 0198c2f4 --yes', does: 'remove it in a script' },
  ],
  print,
  questionFor: ({ removed }) => `Remove ${countOf(removed.length, 'run')}`,
});
