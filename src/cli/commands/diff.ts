/** `cairn diff` */
import { fit, widthOf } from '../text/width.ts';
import { perform } from '../../operations/contract/perform.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import {
  diffCheckpoints,
  type DiffCheckpointsInput,
  type DiffCheckpointsOutput,
} from '../../operations/checkpoints/diff-checkpoints.ts';
import { formatPath } from '../../operations/contract/state-path.ts';
import { type Command, ofOperation } from '../command.ts';
import type { Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { formatInline } from '../text/value.ts';

type Difference = DiffCheckpointsOutput['values'][number];
type NodeDifference = DiffCheckpointsOutput['nodes'][number];

/** A changed value in one line where both sides fit, else old and new below each other. */
function formatDifference(difference: Difference, { screen }: Session): readonly string[] {
  const { paint, width } = screen;
  const path = printable(formatPath(difference.path));
  const sides = [
    ...('before' in difference ? [{ mark: '-', tone: 'bad' as const, text: formatInline(difference.before) }] : []),
    ...('after' in difference ? [{ mark: '+', tone: 'good' as const, text: formatInline(difference.after) }] : []),
  ];
  const joined = `${path}: ${sides.map(({ text }) => text).join(' → ')}`;
  if (sides.length === 2 && widthOf(joined) + 2 <= width) {
    const [before, after] = sides.map(({ tone, text }) => paint(tone, text));
    return [`  ${path}: ${before} → ${after}`];
  }
  const [before, after] = sides;
  const texts =
    before === undefined || after === undefined
      ? sides.map(({ text }) => fit(text, width - 6))
      : differing(before.text, after.text, width - 6);
  const lines = sides.map(({ mark, tone }, index) => `    ${paint(tone, `${mark} ${texts[index]}`)}`);
  return [`  ${path}`, ...lines];
}

function standingOf(row: NodeDifference['before']): string {
  if (row === undefined) return 'not started';
  const { status, verdict = status } = row;
  return [
    verdict.replaceAll('_', ' '),
    row.visits > 1 ? `visit ${row.visits}` : '',
    row.attempt > 1 ? `attempt ${row.attempt}` : '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}

function printDifference(session: Session, { a, b, status, values, nodes, waits }: DiffCheckpointsOutput): void {
  const { screen } = session;
  const lines = [
    ...(status === undefined ? [] : [`  status: ${status.before} → ${status.after}`]),
    ...values.flatMap((value) => formatDifference(value, session)),
    ...nodes.map(
      ({ path, before, after }) => `  ${printable(path.join('/'))}: ${standingOf(before)} → ${standingOf(after)}`,
    ),
    ...waits.closed.map((wait) => `  wait ${wait}: closed`),
    ...waits.opened.map((wait) => `  wait ${wait}: opened`),
  ];
  screen.print(screen.paint('strong', `${printable(a.runId)}@${a.seq} → ${printable(b.runId)}@${b.seq}`));
  screen.print(lines.length === 0 ? ['  no difference'] : lines);
}

export const diffCommand: Command<DiffCheckpointsInput> = {
  ...ofOperation(diffCheckpoints),
  examples: [
    { line: 'cairn diff 0198c2f4@3 0198c2f4', does: 'what happened since checkpoint 3' },
    { line: 'cairn diff 0198c2f4 0198d001', does: 'a run and its fork' },
  ],
  execute(session, input) {
    return withHistory(session, async (context) => {
      const output = await perform(diffCheckpoints, context, input);
      if (session.isJson) session.printJson(output);
      else printDifference(session, output);
      return 0;
    });
  },
};

// Two long texts side by side: what differs, and not the equal beginning that would hide it.

/** Words that are equal on both sides, shown around what differs. */
const wordsAround = 3;

/** The words of a text, each with the blanks before it. */
function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+|\s+$/gu) ?? [];
}

/** How many words the two begin with alike. */
function commonStart(a: readonly string[], b: readonly string[]): number {
  const end = Math.min(a.length, b.length);
  let count = 0;
  while (count < end && a[count] === b[count]) count += 1;
  return count;
}

/**
 * Each text from its first word that differs to its last, with a few words around, and `…` for what is omitted.
 * Those that fit into the width stay whole.
 */
export function differing(before: string, after: string, width: number): readonly [string, string] {
  const texts = [before, after] as const;
  if (texts.every((text) => widthOf(text) <= width)) return texts;
  const [a, b] = [wordsOf(before), wordsOf(after)];
  const start = commonStart(a, b);
  const end = commonStart(a.slice(start).toReversed(), b.slice(start).toReversed());
  const from = Math.max(0, start - wordsAround);
  const show = (words: readonly string[]): string => {
    const to = Math.min(words.length, words.length - end + wordsAround);
    const part = words.slice(from, to).join('');
    return fit(`${from > 0 ? '… ' : ''}${from > 0 ? part.trimStart() : part}${to < words.length ? ' …' : ''}`, width);
  };
  return [show(a), show(b)];
}
