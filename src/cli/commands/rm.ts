/** `cairn rm` */
import { noteBlobs, type Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { removeRun } from '../../operations/runs/remove-run.ts';
import { deletionCommand, type PrintedReport } from '../live/delete.ts';
import { countOf } from '../../operations/format/amounts.ts';

type Removed = Awaited<ReturnType<typeof removeRun.run>>;

async function print(
  session: Session,
  { removed, forgotten, ...collected }: Removed,
  { isDry }: PrintedReport,
): Promise<void> {
  if (forgotten !== undefined)
    session.screen.print(
      `${printable(forgotten)}  ${isDry ? 'would be forgotten' : 'is forgotten: its id may be used again'}`,
    );
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
    { line: 'cairn rm order-1 --forget', does: 'let the id of a removed run be used again' },
  ],
  print,
  questionFor: ({ removed, forgotten }) =>
    forgotten === undefined
      ? `Remove ${countOf(removed.length, 'run')}`
      : `Forget that ${printable(forgotten)} was removed`,
});
