/** `cairn cleanup` */
import { noteBlobs, noteNone, type Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { deletionCommand, type PrintedReport } from '../live/delete.ts';
import { countOf } from '../../operations/format/amounts.ts';
import { cleanUp, type CleanUpReport } from '../../operations/store/clean-up.ts';
import { formatSize } from '../../operations/format/size.ts';
import { wrap } from '../text/width.ts';
import { formatAge } from '../../operations/format/time.ts';

const reasons = {
  busy: 'it is being worked on',
  forked: 'it has forks',
  kept: 'it was started to be kept for longer',
  tagged: 'a checkpoint of it has a tag',
} as const;

/** Less room than this is not worth a word. */
const worthVacuumBytes = 1024 * 1024;

async function printCleanUp(session: Session, report: CleanUpReport, { isDry, now }: PrintedReport): Promise<void> {
  const { screen } = session;
  const { counts, removed, pruned, skipped, space, freedBytes } = report;
  for (const { runId, graphId, endedAt } of removed)
    screen.print(
      `${printable(runId)} ${printable(graphId)}  ${isDry ? 'would go' : 'removed'}: ended ${formatAge(now - endedAt)} ago`,
    );
  for (const { runId, graphId, checkpoints } of pruned)
    screen.print(
      `${printable(runId)} ${printable(graphId)}  ${isDry ? 'at most ' : ''}${checkpoints} checkpoints ${isDry ? 'would be pruned' : 'pruned'}`,
    );
  for (const { runId, because } of skipped) screen.note(`${printable(runId)} was left as it is: ${reasons[because]}`);
  if (removed.length + pruned.length === 0) await noteNone(session, 'Nothing to clean up');
  if (counts.graphs > 0)
    screen.note(...wrap(endOf(report, isDry), screen.width).map((line) => screen.paint('dim', line)));
  noteBlobs(session, report);
  if (freedBytes !== undefined)
    screen.print(
      `${formatSize(freedBytes)} ${isDry ? 'would be given back' : 'given back'}; the store takes ${formatSize(space?.sizeBytes ?? 0)}${isDry ? ' now' : ''}`,
    );
  else if (space !== undefined && space.freeBytes >= worthVacuumBytes)
    screen.note(
      `${formatSize(space.freeBytes)} of the store's ${formatSize(space.sizeBytes)} are free, for what is written later.`,
      'To give them back: cairn cleanup --vacuum',
    );
}

/** What was looked at, and what came of it. */
function endOf({ counts, removed, pruned, skipped }: CleanUpReport, isDry: boolean): string {
  const named = [removed, pruned, skipped].reduce((sum, list) => sum + list.length, 0);
  const all = counts.removed + counts.pruned + counts.skipped;
  const parts = [
    `${countOf(counts.removed, 'run')} ${isDry ? 'would go' : 'removed'}`,
    ...(counts.pruned > 0
      ? [
          `${isDry ? 'at most ' : ''}${countOf(counts.checkpoints, 'checkpoint')} of ${countOf(counts.pruned, 'run')} ${isDry ? 'would be pruned' : 'pruned'}`,
        ]
      : []),
    ...(counts.skipped > 0 ? [`${countOf(counts.skipped, 'run')} left as before`] : []),
  ].join(', ');
  const unnamed = all > named ? ` Of these ${all - named} are not named above.` : '';
  return `Looked at ${countOf(counts.graphs, 'workflow')} with settings: ${parts}.${unnamed}`;
}

/** `Remove 2 runs and prune 40 checkpoints` */
function questionFor({ counts: { removed, checkpoints }, freedBytes = 0 }: CleanUpReport): string | undefined {
  const parts = [
    ...(removed > 0 ? [`remove ${countOf(removed, 'run')}`] : []),
    ...(checkpoints > 0 ? [`prune at most ${countOf(checkpoints, 'checkpoint')}`] : []),
    ...(freedBytes > 0 ? [`rewrite the store to give room back`] : []),
  ].join(' and ');
  return parts === '' ? undefined : `${parts.slice(0, 1).toUpperCase()}${parts.slice(1)}`;
}

export const cleanupCommand = deletionCommand(cleanUp, {
  details:
    'The settings are those of each workflow, and of the configuration for what it leaves open; where neither has any, nothing goes. What a paused run needs to go on always stays.',
  examples: [
    { line: 'cairn cleanup --dry-run', does: 'what would go' },
    { line: 'cairn cleanup --workflow deploy', does: 'only runs of one workflow' },
    { line: 'cairn cleanup --vacuum', does: 'and give the room that is left back to the file system' },
    { line: 'cairn cleanup --yes', does: 'from a schedule, where nobody can be asked' },
  ],
  progress: { done: 'expired:', isOfAll: false, countOf: ({ counts }) => counts.removed },
  print: printCleanUp,
  questionFor,
});
