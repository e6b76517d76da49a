/** `cairn ls` */
import { perform } from '../../operations/declare/perform.ts';
import { withReading } from '../../app/place/open-reading.ts';
import {
  listRuns,
  shownStatusOf,
  type ListedRun,
  type ListRunsInput,
  type ListRunsOutput,
} from '../../operations/runs/list-runs.ts';
import type { Command } from '../command.ts';
import { noteNone } from '../note-none.ts';
import type { Session } from '../session.ts';
import { underParents } from '../text/fork-tree.ts';
import { printable } from '../text/printable.ts';
import { toneOf } from '../text/style.ts';
import { formatTable, type Cell } from '../text/table.ts';
import { formatAge } from '../../operations/words/time.ts';

const columns = [
  { title: 'RUN', canShrink: true },
  { title: 'STATUS' },
  { title: 'GRAPH', canShrink: true },
  { title: 'HEAD', isRight: true },
  { title: 'AGE', isRight: true },
] as const;

function statusOf(run: ListedRun): Cell {
  const text = shownStatusOf(run);
  const tones = { stopped: 'warn', held: 'warn', damaged: 'bad', answered: 'good' } as const;
  return { text, tone: text in tones ? tones[text as keyof typeof tones] : toneOf(run.status) };
}

interface Listed extends ListRunsOutput {
  readonly now: number;
}

function printRuns({ screen, commandLine }: Session, { runs, hasMore, now }: Listed): void {
  const rows = underParents(runs).map(({ run, lines }) => [
    `${lines}${printable(run.runId)}`,
    statusOf(run),
    printable(run.graphId),
    String(run.head),
    formatAge(now - run.createdAt),
  ]);
  screen.print(formatTable(columns, rows, screen));
  if (hasMore) screen.note(screen.paint('dim', `There are more: ${commandLine('ls', '--all')}`));
}

export const lsCommand: Command<ListRunsInput> = {
  name: listRuns.name,
  summary: listRuns.summary,
  fields: listRuns.input,
  details:
    'A run that is "queued" was not taken up yet: a worker does. One that is "stopped" is running by its record, but nobody works on it: its process has died; resume it. One that is "answered" can be resumed. One that is "held" was restored from a backup: release it first. Of one that is "damaged" the store holds something else than was written.',
  examples: [
    { line: 'cairn ls', does: 'the newest runs' },
    { line: 'cairn ls --status paused,failed --graph release-notes', does: 'what needs attention' },
    { line: 'cairn ls --all --json', does: 'everything, for a program' },
  ],
  execute(session, input) {
    return withReading(session, async (context) => {
      const output = await perform(listRuns, context, input);
      if (session.isJson) session.printJson(output);
      else if (output.runs.length === 0) await noteNone(session, 'No runs here');
      else printRuns(session, { ...output, now: context.now() });
      return 0;
    });
  },
};
