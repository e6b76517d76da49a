/** `cairn inbox` */
import { perform } from '../../operations/declare/perform.ts';
import { withReading } from '../../app/place/open-reading.ts';
import { listWaits, type ListWaitsInput, type ListWaitsOutput } from '../../operations/waits/list-waits.ts';
import type { Command } from '../command.ts';
import { noteNone } from '../note-none.ts';
import type { Session } from '../session.ts';
import { nodeNameOf, type OpenQuestion } from '../../operations/waits/find-wait.ts';
import { printable } from '../text/printable.ts';
import { formatTable } from '../text/table.ts';
import { formatDue, formatWait, purposeOf } from '../text/wait-text.ts';

const columns = [
  { title: 'RUN', canShrink: true },
  { title: 'NODE', canShrink: true },
  { title: 'WAITS FOR', canShrink: true },
  { title: 'UNTIL' },
] as const;

function rowOf(wait: OpenQuestion, now: number): readonly string[] {
  const until = wait.dueAt === undefined ? '' : formatDue(wait.dueAt, now);
  return [printable(wait.runId), printable(nodeNameOf(wait)), printable(purposeOf(wait)), until];
}

/** A line for each run that needs a resume and nothing else. */
function printAnswered({ screen, commandLine }: Session, { waits, waiting, answered }: ListWaitsOutput): void {
  if (answered.length > 0 && waits.length + waiting.length > 0) screen.print('');
  for (const { runId, graphId } of answered)
    screen.print(`${printable(graphId)} is answered; go on: ${screen.paint('good', commandLine('resume', runId))}`);
}

function printWaits(session: Session, output: ListWaitsOutput, now: number): void {
  const { screen, commandLine } = session;
  const { waits, hasMore, waiting, answered } = output;
  for (const [index, wait] of waits.entries()) {
    if (index > 0) screen.print('');
    for (const line of formatWait(session, wait, { now, graphId: wait.graphId })) screen.print(line);
  }
  if (waiting.length > 0) {
    if (waits.length > 0) screen.print('');
    screen.print(
      ...formatTable(
        columns,
        waiting.map((wait) => rowOf(wait, now)),
        screen,
      ),
    );
  }
  printAnswered(session, output);
  const shown = Math.max(waits.length, waiting.length, answered.length);
  if (hasMore)
    screen.note(screen.paint('dim', `There are more: ${commandLine('inbox', '--limit', String(shown * 10))}`));
}

export const inboxCommand: Command<ListWaitsInput> = {
  name: listWaits.name,
  summary: listWaits.summary,
  fields: listWaits.input,
  examples: [
    { line: 'cairn inbox', does: 'all open questions, and which runs wait for signals and times' },
    { line: 'cairn inbox 0198c2f4 --all', does: 'everything that one run waits for' },
  ],
  execute(session, input) {
    return withReading(session, async (context) => {
      const output = await perform(listWaits, context, input);
      if (session.isJson) session.printJson(output);
      else if (output.waits.length + output.waiting.length + output.answered.length === 0)
        await noteNone(session, 'Nothing is open');
      else printWaits(session, output, context.now());
      return 0;
    });
  },
};
