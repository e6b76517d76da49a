/** `cairn cleanup` */
import { perform } from '../../operations/declare/perform.ts';
import { cleanUp, type CleanUpInput, type CleanUpReport } from '../../operations/store/clean-up.ts';
import type { Command } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { noteBlobs } from '../note-blobs.ts';
import type { Session } from '../session.ts';
import { printable } from '../text/printable.ts';
import { formatAge } from '../../operations/words/time.ts';

function print({ screen }: Session, { removed, pruned, left }: CleanUpReport, isDry: boolean, now: number): void {
  for (const { runId, graphId, endedAt } of removed)
    screen.print(
      `${printable(runId)} ${printable(graphId)}  ${isDry ? 'would go' : 'removed'}: ended ${formatAge(now - endedAt)} ago`,
    );
  for (const { runId, graphId, checkpoints } of pruned)
    screen.print(
      `${printable(runId)} ${printable(graphId)}  ${isDry ? 'at most ' : ''}${checkpoints} checkpoints ${isDry ? 'would be pruned' : 'pruned'}`,
    );
  for (const { runId, because } of left)
    screen.note(
      `${printable(runId)} was left as it is: ${because === 'busy' ? 'it is being worked on' : 'it has forks'}`,
    );
  if (removed.length + pruned.length === 0) screen.note('Nothing to clean up.');
}

export const cleanupCommand: Command<CleanUpInput> = {
  name: cleanUp.name,
  summary: cleanUp.summary,
  fields: cleanUp.input,
  details:
    'The settings are those of each workflow, and of the configuration for what it leaves open; where neither has any, nothing goes. What a paused run needs to go on always stays.',
  examples: [
    { line: 'cairn cleanup --dry-run', does: 'what would go' },
    { line: 'cairn cleanup --workflow deploy', does: 'only runs of one workflow' },
  ],
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(cleanUp, app, input);
      if (session.isJson) session.printJson(output);
      else {
        print(session, output, input.dryRun === true, app.now());
        noteBlobs(session, output.blobs);
      }
      return 0;
    });
  },
};
