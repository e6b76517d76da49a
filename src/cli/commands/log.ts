/** `cairn log` */
import { perform } from '../../operations/declare/perform.ts';
import { withReading } from '../../app/place/open-reading.ts';
import {
  type LogEntry,
  readLog,
  type ReadLogInput,
  type ReadLogOutput,
} from '../../operations/checkpoints/read-log.ts';
import { describeChange } from '../text/change-text.ts';
import type { Command } from '../session.ts';
import type { Session } from '../session.ts';
import { printable } from '../text/terminal-text.ts';
import { toneOf } from '../text/terminal-text.ts';
import { formatTable } from '../text/terminal-text.ts';
import { formatAge } from '../../operations/words/time.ts';

const columns = [
  { title: 'SEQ', isRight: true },
  { title: 'AGE', isRight: true },
  { title: 'BYTES', isRight: true },
  { title: 'WHAT HAPPENED', canShrink: true },
] as const;

function toCells({ seq, at, sizeBytes, change, tags }: LogEntry, now: number): readonly string[] {
  const names = tags.length === 0 ? '' : `[${printable(tags.join(', '))}] `;
  return [String(seq), formatAge(now - at), String(sizeBytes), names + describeChange(change)];
}

function printLog({ screen, commandLine }: Session, output: ReadLogOutput, now: number): void {
  const { runId, graphId, status, parent, entries, hasMore } = output;
  const from = parent === undefined ? '' : screen.paint('dim', ` forked from ${printable(parent.runId)}@${parent.seq}`);
  screen.print(
    `${screen.paint('strong', printable(runId))} ${printable(graphId)} ${screen.paint(toneOf(status), status)}${from}`,
  );
  const rows = entries.map((entry) => toCells(entry, now));
  screen.print(formatTable(columns, rows, screen));
  if (hasMore) screen.note(screen.paint('dim', `There are more: ${commandLine('log', runId, '--all')}`));
}

export const logCommand: Command<ReadLogInput> = {
  name: readLog.name,
  summary: readLog.summary,
  fields: readLog.input,
  details: 'Each line is a checkpoint: RUN@SEQ names it for show, state, diff and fork.',
  examples: [
    { line: 'cairn log 0198c2f4', does: 'the newest checkpoints of a run' },
    { line: 'cairn log 0198c2f4@40 --limit 10', does: 'ten, from checkpoint 40 back' },
    {
      line: 'cairn log 0198c2f4 --ancestors --all --json',
      does: 'the whole history, a line of JSON for each checkpoint',
    },
  ],
  execute(session, input) {
    return withReading(session, async (context) => {
      const output = await perform(readLog, context, input);
      if (session.isJson) for (const entry of output.entries) session.printJson(entry);
      else printLog(session, output, context.now());
      return 0;
    });
  },
};
