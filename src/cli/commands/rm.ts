/** `cairn rm` */
import { removeRun } from '../../operations/runs/remove-run.ts';
import { noteBlobs, type Session } from '../session.ts';
import { deletionCommand, type PrintedReport } from '../live/delete.ts';
import { countOf } from '../../operations/words/amounts.ts';
import { printable } from '../text/terminal-text.ts';

type Removed = Awaited<ReturnType<typeof removeRun.run>>;

async function print(session: Session, { removed, blobs }: Removed, { isDry }: PrintedReport): Promise<void> {
  for (const runId of removed)
    session.screen.print(isDry ? `${printable(runId)}  would be removed` : `removed ${printable(runId)}`);
  noteBlobs(session, blobs);
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
