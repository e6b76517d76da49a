/** `cairn cleanup` */
import { cleanUp, type CleanUpReport } from '../../operations/store/clean-up.ts';
import { deletionCommand, type PrintedReport } from '../live/delete.ts';
import { noteBlobs, noteNone, type Session } from '../session.ts';
import { countOf } from '../../operations/words/amounts.ts';
import { printable } from '../text/terminal-text.ts';
import { formatAge } from '../../operations/words/time.ts';

async function print(session: Session, report: CleanUpReport, { isDry, now }: PrintedReport): Promise<void> {
  const { screen } = session;
  const { removed, pruned, left, blobs } = report;
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
  if (removed.length + pruned.length === 0) await noteNone(session, 'Nothing to clean up');
  noteBlobs(session, blobs);
}

/** `Remove 2 runs and prune 40 checkpoints` */
function questionFor({ removed, pruned }: CleanUpReport): string | undefined {
  const count = pruned.reduce((sum, { checkpoints }) => sum + checkpoints, 0);
  const parts = [
    ...(removed.length > 0 ? [`remove ${countOf(removed.length, 'run')}`] : []),
    ...(count > 0 ? [`prune at most ${countOf(count, 'checkpoint')}`] : []),
  ].join(' and ');
  return parts === '' ? undefined : `${parts.slice(0, 1).toUpperCase()}${parts.slice(1)}`;
}

export const cleanupCommand = deletionCommand(cleanUp, {
  details:
    'The settings are those of each workflow, and of the configuration for what it leaves open; where neither has any, nothing goes. What a paused run needs to go on always stays.',
  examples: [
    { line: 'cairn cleanup --dry-run', does: 'what would go' },
    { line: 'cairn cleanup --workflow deploy', does: 'only runs of one workflow' },
    { line: 'cairn cleanup --yes', does: 'from a schedule, where nobody can be asked' },
  ],
  print,
  questionFor,
});
