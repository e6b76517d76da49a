/** `cairn inbox` */
import { withReading } from '../../app/open-store/open-reading.ts';
import { perform } from '../../operations/contract/perform.ts';
import { type Command, ofOperation } from '../command.ts';
import { noteNone, type Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { awaitedWords } from '../text/awaited-text.ts';
import { formatTable } from '../text/text-table.ts';
import { listWaits, type ListWaitsInput, type ListWaitsOutput } from '../../operations/waits/list-waits.ts';
import { nodeNameOf, type OpenQuestion } from '../../operations/waits/find-wait.ts';
import { runName } from '../../operations/runs/find-run.ts';
import { formatDue, formatWait, purposeOf } from '../text/wait-text.ts';

const waitColumns = [
  { title: 'RUN', canShrink: true },
  { title: 'NODE', canShrink: true },
  { title: 'WAITS FOR', canShrink: true },
  { title: 'UNTIL' },
] as const;

function rowOf(wait: OpenQuestion, now: number): readonly string[] {
  const until = wait.dueAt === undefined ? '' : formatDue(wait.dueAt, now);
  return [printable(runName(wait.runId)), printable(nodeNameOf(wait)), printable(purposeOf(wait)), until];
}

/** A line for each run that needs a resume and nothing else. */
function printAnswered({ screen, commandLine }: Session, { waits, waiting, answered }: ListWaitsOutput): void {
  if (answered.length > 0 && waits.length + waiting.length > 0) screen.print('');
  for (const { runId, graphId } of answered)
    screen.print(`${printable(graphId)} is answered; go on: ${screen.paint('good', commandLine('resume', runId))}`);
}

function printWaits(session: Session, output: ListWaitsOutput, now: number): void {
  const { screen, commandLine } = session;
  const { waits, hasMore, waiting, answered, awaiting = [] } = output;
  for (const [index, wait] of waits.entries()) {
    if (index > 0) screen.print('');
    for (const line of formatWait(session, wait, { now, graphId: wait.graphId })) screen.print(line);
  }
  if (waiting.length > 0) {
    if (waits.length > 0) screen.print('');
    screen.print(
      ...formatTable(
        waitColumns,
        waiting.map((wait) => rowOf(wait, now)),
        screen,
      ),
    );
  }
  printAnswered(session, output);
  for (const { runId, awaits } of awaiting)
    for (const awaited of awaits) screen.print(`${printable(runName(runId))} waits for ${awaitedWords(awaited)}`);
  const most = Math.max(waits.length, waiting.length, answered.length);
  if (hasMore)
    screen.note(screen.paint('dim', `There are more: ${commandLine('inbox', '--limit', String(most * 10))}`));
}

const countOf = ({ waits, waiting, answered, awaiting = [] }: ListWaitsOutput): number =>
  waits.length + waiting.length + answered.length + awaiting.length;

export const inboxCommand: Command<ListWaitsInput> = {
  ...ofOperation(listWaits),
  examples: [
    { line: 'cairn inbox', does: 'all open questions, and which runs wait for signals and times' },
    { line: 'cairn inbox 0198c2f4 --all', does: 'everything that one run waits for' },
  ],
  execute(session, input) {
    return withReading(session, async (context) => {
      const output = await perform(listWaits, context, input);
      if (session.isJson) session.printJson(output);
      else if (countOf(output) === 0) await noteNone(session, 'Nothing is open');
      else printWaits(session, output, context.now());
      return 0;
    });
  },
};
