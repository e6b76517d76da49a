/** `cairn prune` */
import { noteBlobs, noteNone, type Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { pruneRuns } from '../../operations/store/prune-runs.ts';
import { deletionCommand, type PrintedReport } from '../live/delete.ts';
import { countOf } from '../../operations/format/amounts.ts';
import { wrap } from '../text/width.ts';

type Pruned = Awaited<ReturnType<typeof pruneRuns.run>>;

const spansMax = 8;

/** `1, 3 to 9` */
function formatSpans(spans: Pruned['pruned'][number]['spans']): string {
  const ranges = spans.slice(0, spansMax).map(({ from, to }) => (from === to ? String(from) : `${from} to ${to}`));
  return [...ranges, ...(spans.length > spansMax ? ['…'] : [])].join(', ');
}

async function printPruned(
  session: Session,
  { pruned, runs, checkpoints, busy, ...collected }: Pruned,
  { isDry }: PrintedReport,
): Promise<void> {
  const { screen } = session;
  for (const { runId, removed, spans, oldest } of pruned) {
    const went = `${countOf(removed, 'checkpoint')} ${isDry ? 'would be pruned' : 'pruned'}`;
    const line = `${printable(runId)}  ${removed === 0 ? 'nothing to prune' : `${went}: ${formatSpans(spans)}; the oldest kept is ${oldest}`}`;
    screen.print(wrap(line, screen.width));
  }
  if (runs > 1)
    screen.note(
      screen.paint(
        'dim',
        `Looked at ${countOf(runs, 'run')}: ${countOf(checkpoints, 'checkpoint')} ${isDry ? 'would be pruned' : 'pruned'}.`,
      ),
    );
  if (pruned.length + busy.length === 0) await noteNone(session, 'No runs here');
  for (const runId of busy) screen.note(`${printable(runId)} is being worked on and was left as it is`);
  noteBlobs(session, collected);
}

export const pruneCommand = deletionCommand(pruneRuns, {
  details:
    'Kept are the newest checkpoints, tags, points that were forked from, open waits, and the outcomes of writes and answers as long as anything before them is kept.',
  examples: [
    { line: 'cairn prune 0198c2f4 --keep-last 10', does: 'keep the newest ten of a run' },
    { line: 'cairn prune --all --dry-run', does: 'what would go of every run' },
    { line: 'cairn prune --all --keep-every 100 --yes', does: 'thin out every history, in a script' },
  ],
  progress: { done: 'looked at', isOfAll: true },
  print: printPruned,
  questionFor: ({ checkpoints }) => (checkpoints === 0 ? undefined : `Prune ${countOf(checkpoints, 'checkpoint')}`),
});
