/** `cairn prune` */
import type { App } from '../../app/open-app.ts';
import { CairnError } from '../../errors.ts';
import { perform } from '../../operations/declare/perform.ts';
import type { FieldsOf } from '../../operations/declare/operation.ts';
import { pruneRuns, type PruneRunsInput } from '../../operations/store/prune-runs.ts';
import { noteBlobs } from '../note-blobs.ts';
import type { Command } from '../command.ts';
import { isConfirmed } from '../live/confirm.ts';
import { withApp } from '../live/follow.ts';
import type { Session } from '../session.ts';
import { countOf } from '../../operations/words/amounts.ts';
import { printable } from '../text/printable.ts';
import { wrap } from '../text/width.ts';

interface PruneArguments extends PruneRunsInput {
  readonly yes?: boolean;
}

const fields: FieldsOf<PruneArguments> = {
  ...pruneRuns.input,
  yes: { type: 'flag', description: 'do not ask; needed where nobody can be asked' },
};

type Pruned = Awaited<ReturnType<typeof pruneRuns.run>>;

const spansShown = 8;

/** `1, 3 to 9` */
function formatSpans(spans: Pruned['pruned'][number]['spans']): string {
  const told = spans.slice(0, spansShown).map(({ from, to }) => (from === to ? String(from) : `${from} to ${to}`));
  return [...told, ...(spans.length > spansShown ? ['…'] : [])].join(', ');
}

function countAll({ pruned }: Pruned): number {
  return pruned.reduce((sum, { removed }) => sum + removed, 0);
}

function print({ screen }: Session, { pruned, busy, blobs }: Pruned, isDone: boolean): void {
  for (const { runId, removed, spans, oldest } of pruned) {
    const went = `${countOf(removed, 'checkpoint')} ${isDone ? 'pruned' : 'would be pruned'}`;
    const line = `${printable(runId)}  ${removed === 0 ? 'nothing to prune' : `${went}: ${formatSpans(spans)}; the oldest kept is ${oldest}`}`;
    screen.print(...wrap(line, screen.width));
  }
  if (pruned.length + busy.length === 0) screen.note('No runs here.');
  for (const runId of busy) screen.note(`${printable(runId)} is being worked on and was left as it is`);
  noteBlobs({ screen }, blobs);
}

/** Shows what would go, and asks. @returns whether it is to be done */
async function isMeant(session: Session, app: App, input: PruneRunsInput): Promise<boolean> {
  const plan = await perform(pruneRuns, app, { ...input, dryRun: true });
  if (!session.screen.canAsk || session.isJson)
    throw new CairnError('USAGE_INVALID', {
      reason: 'pruned checkpoints are gone for good, and nobody can be asked here',
      hint: 'See what would go with --dry-run, and prune with --yes.',
    });
  print(session, plan, false);
  const count = countAll(plan);
  return count > 0 && isConfirmed(session, `Prune ${countOf(count, 'checkpoint')}? They cannot be brought back.`);
}

export const pruneCommand: Command<PruneArguments> = {
  name: pruneRuns.name,
  summary: pruneRuns.summary,
  fields,
  details:
    'It says what would go, and asks. Kept are the newest checkpoints, tags, points that were forked from, open waits, and the outcomes of writes and answers as long as anything before them is kept.',
  examples: [
    { line: 'cairn prune 0198c2f4 --keep-last 10', does: 'keep the newest ten of a run' },
    { line: 'cairn prune --all --dry-run', does: 'what would go of every run' },
    { line: 'cairn prune --all --keep-every 100 --yes', does: 'thin out every history, in a script' },
  ],
  execute(session, { yes = false, ...input }) {
    return withApp(session, async (app) => {
      const isDry = input.dryRun === true;
      if (!isDry && !yes && !(await isMeant(session, app, input))) return 0;
      const output = await perform(pruneRuns, app, input);
      if (session.isJson) session.printJson(output);
      else print(session, output, !isDry);
      return 0;
    });
  },
};
