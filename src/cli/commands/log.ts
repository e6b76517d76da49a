/** `cairn log` */
import { countOf, deathWords } from '../../operations/format/amounts.ts';
import { checkInput, perform } from '../../operations/contract/perform.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { withReading } from '../../app/open-store/open-reading.ts';
import {
  followLog,
  type LogEntry,
  type LogHead,
  openWholeLog,
  readLog,
  type ReadLogInput,
  type ReadLogOutput,
} from '../../operations/checkpoints/read-log.ts';
import { CairnError } from '../../errors.ts';
import { listenForInterrupt } from '../live/interrupt.ts';
import { describeChange } from '../text/change-text.ts';
import { type Command, ofOperation } from '../command.ts';
import { printJsonLines } from '../json-lines.ts';
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

function printHead({ screen }: Session, head: LogHead): void {
  const { runId, graphId, status, parent } = head;
  const from = parent === undefined ? '' : screen.paint('dim', ` forked from ${printable(parent.runId)}@${parent.seq}`);
  screen.print(
    `${screen.paint('strong', printable(runId))} ${printable(graphId)} ${screen.paint(toneOf(status), status)}${from}`,
  );
  const died = deathWords(head.deaths);
  if (died !== undefined) screen.print(screen.paint('warn', died));
}

function printEntries({ screen }: Session, entries: readonly LogEntry[], now: number): void {
  const rows = entries.map((entry) => toCells(entry, now));
  screen.print(formatTable(columns, rows, screen));
}

function printLog(session: Session, output: ReadLogOutput, now: number): void {
  const { screen, commandLine } = session;
  const { runId, entries, hasMore } = output;
  printHead(session, output);
  printEntries(session, entries, now);
  if (hasMore) screen.note(screen.paint('dim', `There are more: ${commandLine('log', runId, '--all')}`));
}

/** So many checkpoints are one table; longer logs are printed page by page. */
const pageEntries = 500;

async function printWholeLog(
  session: Session,
  { head, entries }: Awaited<ReturnType<typeof openWholeLog>>,
  now: number,
): Promise<void> {
  printHead(session, head);
  let page: LogEntry[] = [];
  let count = 0;
  for await (const entry of entries) {
    count += 1;
    if (page.push(entry) < pageEntries) continue;
    printEntries(session, page, now);
    page = [];
  }
  if (page.length > 0 || count === 0) printEntries(session, page, now);
  if (count > pageEntries) session.screen.note(session.screen.paint('dim', countOf(count, 'checkpoint')));
}

async function* entriesOf({ entries, ...end }: ReadLogOutput): AsyncGenerator<LogEntry, object> {
  yield* entries;
  return { ...end, checkpoints: entries.length };
}

async function* endingWith(
  head: LogHead,
  entries: Awaited<ReturnType<typeof openWholeLog>>['entries'],
): AsyncGenerator<LogEntry, object> {
  const end = yield* entries;
  return { ...head, hasMore: false, ...end };
}

interface LogArguments extends ReadLogInput {
  readonly follow?: boolean;
  readonly live?: boolean;
}

/** Prints each checkpoint as it is recorded, oldest first, until the run ends. Ctrl-C stops to look, and does nothing to the run. */
function followRun(session: Session, { run, cursor: after, live = false }: LogArguments): Promise<number> {
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
    cursor: {
      ...readLog.input.cursor,
      description: `${readLog.input.cursor.description}; with --follow: only what comes after this seq, or the cursor of an event`,
    },
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
  execute(session, { follow, live, ...input }) {
    if (follow === true) {
      const { run, cursor } = input;
      return followRun(session, { run, ...(cursor !== undefined && { cursor }), ...(live === true && { live }) });
    }
    if (live !== undefined)
      throw new CairnError('USAGE_INVALID', { reason: '--live is for --follow', hint: 'Give --follow too.' });
    return withReading(session, async (context) => {
      if (input.all === true) {
        checkInput(readLog.input, input);
        const whole = await openWholeLog(context, input);
        if (session.isJson) await printJsonLines(session, endingWith(whole.head, whole.entries));
        else await printWholeLog(session, whole, context.now());
        return 0;
      }
      const output = await perform(readLog, context, input);
      if (session.isJson) await printJsonLines(session, entriesOf(output));
      else printLog(session, output, context.now());
      return 0;
    });
  },
};
