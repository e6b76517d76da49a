/** `cairn hold` and `cairn release` */
import { perform } from '../../operations/contract/perform.ts';
import { type Command, ofOperation } from '../command.ts';
import { noteNone } from '../session.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../../operations/format/terminal.ts';
import { holdRuns } from '../../operations/runs/hold-runs.ts';
import { releaseRuns } from '../../operations/runs/release-runs.ts';
import type { RunOrAllInput } from '../../operations/runs/run-or-all.ts';

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
