/** `cairn release` */
import { releaseRuns, type ReleaseRunsInput } from '../../operations/runs/release-runs.ts';
import { perform } from '../../operations/declare/perform.ts';
import { type Command, noteNone } from '../session.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../text/terminal-text.ts';

export const releaseCommand: Command<ReleaseRunsInput> = {
  name: releaseRuns.name,
  summary: releaseRuns.summary,
  fields: releaseRuns.input,
  details:
    'A restore holds every run that was not over, since what it did after the backup is not in the backup. Released, a run goes on from its newest checkpoint: effects that it had after that may happen again, idempotent ones under the same keys; those that had begun by then are in doubt, as after a crash.',
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
            'Effects that followed the backup are not in this store: they may happen again, under the same keys.',
          );
      }
      return 0;
    });
  },
};
