/** `cairn log` */
import { deathWords } from '../../operations/format/amounts.ts';
import { perform } from '../../operations/contract/perform.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { withReading } from '../../app/open-store/open-reading.ts';
import {
  followLog,
  type LogEntry,
  readLog,
  type ReadLogInput,
  type ReadLogOutput,
} from '../../operations/checkpoints/read-log.ts';
import { CairnError } from '../../errors.ts';
import { listenForInterrupt } from '../live/interrupt.ts';
import { describeChange } from '../text/change-text.ts';
import { type Command, ofOperation } from '../command.ts';
import type { Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { toneOf } from '../text/tone.ts';
import { formatTable } from '../text/text-table.ts';
import { formatAge } from '../../operations/format/time.ts';

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
  const died = deathWords(output.deaths);
  if (died !== undefined) screen.print(screen.paint('warn', died));
  const rows = entries.map((entry) => toCells(entry, now));
  screen.print(formatTable(columns, rows, screen));
  if (hasMore) screen.note(screen.paint('dim', `There are more: ${commandLine('log', runId, '--all')}`));
}

interface LogArguments extends ReadLogInput {
  readonly follow?: boolean;
  readonly after?: string;
  readonly live?: boolean;
}

/** Prints each checkpoint as it is recorded, oldest first, until the run ends. Ctrl-C stops to look, and does nothing to the run. */
function followRun(session: Session, { run, after, live = false }: LogArguments): Promise<number> {
  return withHistory(session, async (context) => {
    const interrupt = listenForInterrupt();
    const leaving = new AbortController();
    const code = interrupt.requested.then((exitCode) => {
      leaving.abort();
      return exitCode;
    });
    try {
      const events = followLog(context, run, { live, signal: leaving.signal, ...(after !== undefined && { after }) });
      for await (const event of events) {
        if (session.isJson) session.printJson(event);
        else if (event.type === 'reset') session.screen.note(`The history is another one from ${event.from} on.`);
        else if (event.type === 'live')
          session.screen.print(`       ${printable(`${event.node.join('/')}: ${JSON.stringify(event.detail)}`)}`);
        else if (event.type === 'feed') {
          if (!event.live) session.screen.note('This store has no live feed: all of it is shown when it is recorded.');
        } else session.screen.print(`${String(event.seq).padStart(5)}  ${describeChange(event.change)}`);
      }
      return leaving.signal.aborted ? await code : 0;
    } finally {
      interrupt.release();
    }
  });
}

export const logCommand: Command<LogArguments> = {
  ...ofOperation(readLog),
  fields: {
    ...readLog.input,
    follow: { type: 'flag', description: 'oldest first, and on as it is recorded, over pauses, until the run ends' },
    live: { type: 'flag', description: 'with --follow: what nodes are just making, too' },
    after: { type: 'text', description: 'with --follow: only after this seq, or the cursor of an event' },
  },
  details: 'Each line is a checkpoint: RUN@SEQ names it for show, state, diff and fork.',
  examples: [
    { line: 'cairn log 0198c2f4', does: 'the newest checkpoints of a run' },
    { line: 'cairn log 0198c2f4@40 --limit 10', does: 'ten, from checkpoint 40 back' },
    {
      line: 'cairn log 0198c2f4 --follow',
      does: 'what is recorded, as it happens, whichever process advances the run',
    },
    {
      line: 'cairn log 0198c2f4 --ancestors --all --json',
      does: 'the whole history, a line of JSON for each checkpoint',
    },
  ],
  execute(session, { follow, after, live, ...input }) {
    if (follow === true) {
      const { run } = input;
      return followRun(session, { run, ...(after !== undefined && { after }), ...(live === true && { live }) });
    }
    if (after !== undefined || live !== undefined)
      throw new CairnError('USAGE_INVALID', {
        reason: '--after and --live are for --follow',
        hint: 'Give --follow too.',
      });
    return withReading(session, async (context) => {
      const output = await perform(readLog, context, input);
      if (session.isJson) for (const entry of output.entries) session.printJson(entry);
      else printLog(session, output, context.now());
      return 0;
    });
  },
};
