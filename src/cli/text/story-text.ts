/** A post-mortem as text that reads from top to bottom: what happened, and why it went on as it did. */
import { formatPath } from '../../operations/contract/state-path.ts';
import type { PostMortem } from '../../operations/runs/post-mortem.ts';
import { storySummary, type StorySummary } from '../../operations/format/story-summary.ts';
import {
  storyWords,
  type EdgeWords,
  type EventWords,
  type NoteWords,
  type VisitWords,
} from '../../operations/format/story-words.ts';
import { formatTime } from '../../operations/format/time.ts';
import { printable } from '../../operations/format/terminal.ts';
import { type Paint, toneOf } from './tone.ts';
import { formatInline } from './value.ts';
import { fit, wrap } from './width.ts';

export interface StoryScreen {
  readonly width: number;
  readonly paint: Paint;
}

/** Changes of one visit that are shown. `--json` shows all. */
const changesMax = 6;
/** Columns of a value as it was before: the one that came after must have room on the line. */
const beforeMax = 24;
const margin = 6;

export function formatStory(story: PostMortem, screen: StoryScreen): readonly string[] {
  const { runId, graphId, status, seq, startedAt, result } = story;
  const { paint } = screen;
  const words = storyWords(story);
  const summary = storySummary(story, words);
  const outcome = summary.outcome === undefined ? '' : ` ${paint(toneOf(summary.outcome), printable(summary.outcome))}`;
  return [
    `${paint('strong', printable(`${runId}@${seq}`))} ${printable(graphId)} ${paint(toneOf(status), status)}${outcome}`,
    paint('dim', [formatTime(startedAt), ...words.facts].map(printable).join(', ')),
    '',
    ...words.entries.flatMap((entry) =>
      entry.kind === 'visit' ? formatVisit(entry, screen) : formatEvent(entry, screen),
    ),
    ...formatEnd(summary, result, screen),
  ];
}

function formatEvent({ place, text }: EventWords, { paint, width }: StoryScreen): readonly string[] {
  return [`${printable(place).padEnd(margin - 1)} ${paint('dim', fit(printable(text), width - margin))}`];
}

function formatVisit(
  { place, visit, outcome, facts, notes, changes, edges }: VisitWords,
  screen: StoryScreen,
): readonly string[] {
  const { paint, width } = screen;
  const indent = ' '.repeat(margin + visit.path.length - 1);
  const head = `${printable(place).padEnd(margin - 1)}${' '.repeat(visit.path.length)}`;
  const more = facts.length === 0 ? '' : paint('dim', ` (${facts.map(printable).join(', ')})`);
  const line = (text: string): string => fit(`${indent}${text}`, width);
  return [
    `${head}${paint('strong', printable(visit.path.join('/')))} ${paint(toneOf(outcome), outcome)}${more}`,
    ...notes.flatMap((note) => formatNote(note, { indent, screen })),
    ...formatChanges(changes, line),
    ...edges.map((edge) => formatEdge(edge, { line, paint })),
  ];
}

/** Columns of a failed attempt's reason, which may be printed many times. */
const retryMax = 300;

/** Questions and failures are printed whole; of the rest a line. */
function formatNote(
  { kind, text }: NoteWords,
  { indent, screen }: { readonly indent: string; readonly screen: StoryScreen },
): readonly string[] {
  const { width, paint } = screen;
  if (['taken over', 'condition', 'steps'].includes(kind)) return [fit(`${indent}${printable(text)}`, width)];
  const whole = kind === 'retry' ? fit(printable(text), retryMax) : printable(text);
  const lines = wrap(whole, width - indent.length).map((part) => indent + part);
  return kind === 'failure' ? lines.map((part) => paint('bad', part)) : lines;
}

function formatChanges(changes: VisitWords['changes'], line: (text: string) => string): readonly string[] {
  const lines = changes.slice(0, changesMax).map((change) => {
    const path = printable(formatPath(change.path));
    if (change.isAppended === true) return line(`${path} + ${formatInline(change.after)}`);
    const was = change.beforeWords ?? ('before' in change ? formatInline(change.before) : undefined);
    const before = was === undefined ? '' : `${fit(was, beforeMax)} → `;
    return line(`${path}: ${before}${printable(change.afterWords ?? formatInline(change.after))}`);
  });
  const more = changes.length - changesMax;
  return more > 0 ? [...lines, line(`… and ${more} changes more`)] : lines;
}

function formatEdge(
  { target, label, fired, why }: EdgeWords,
  { line, paint }: { readonly line: (text: string) => string; readonly paint: Paint },
): string {
  const name = label === undefined ? printable(target) : `${printable(target)} ${JSON.stringify(printable(label))}`;
  const text = line(`${fired ? '→' : '·'} ${name}${why.length === 0 ? '' : `: ${why.map(printable).join(', ')}`}`);
  return fired ? text : paint('dim', text);
}

/** Failures on the way that are printed again at the end. */
const failuresMax = 20;

function formatEnd(
  { failures, gates, failedOnTheWay }: StorySummary,
  result: unknown,
  { paint, width }: StoryScreen,
): readonly string[] {
  const onTheWay = failedOnTheWay.slice(0, failuresMax).map(({ text }) => fit(`  ${printable(text)}`, width));
  const more = failedOnTheWay.length - onTheWay.length;
  const lines = [
    ...failures.flatMap(({ text }) => wrap(printable(text), width).map((part) => paint('bad', part))),
    ...(gates.length === 0
      ? []
      : wrap(printable(`goal gates: ${gates.map(([gate, how]) => `${gate} ${how}`).join(', ')}`), width)),
    ...(onTheWay.length === 0 ? [] : ['failed on the way:', ...onTheWay]),
    ...(more > 0 ? [`  … and ${more} more`] : []),
    ...(result === undefined ? [] : [fit(`result: ${formatInline(result)}`, width)]),
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}
