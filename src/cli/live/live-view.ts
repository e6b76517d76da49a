/** Shows a run's progress: on a terminal a view that is redrawn in place, elsewhere one line for each event. */
import type { OpenQuestion } from '../../operations/waits/find-wait.ts';
import type { WatchedEvent } from '../../operations/declare/operation.ts';
import { Progress, type ProgressRow, type RowState } from './progress.ts';
import type { Screen } from '../screen.ts';
import { toneOf, type Tone } from '../text/style.ts';
import { printable } from '../text/printable.ts';
import { formatDuration } from '../../operations/words/time.ts';
import { fit, pad, widthOf } from '../text/width.ts';

const redrawMs = 100;
/** The most nodes that stay on the screen when the run has ended or paused. */
const longestSummary = 60;

const marks: Readonly<Record<RowState, readonly [string, Tone]>> = {
  running: ['●', 'strong'],
  waiting: ['?', 'warn'],
  retrying: ['↻', 'warn'],
  completed: ['✓', 'good'],
  replayed: ['✓', 'dim'],
  failed: ['✗', 'bad'],
  skipped: ['-', 'dim'],
  cancelled: ['-', 'warn'],
};

/** Of a node that completed and says of itself that it did not quite succeed. */
function markOf(verdict: string): readonly [string, Tone] {
  const tone = toneOf(verdict);
  return tone === 'bad' ? ['✗', tone] : ['!', 'warn'];
}

const live: readonly RowState[] = ['running', 'waiting', 'retrying'];

function detailsOf(row: ProgressRow, now: number): string {
  const { state, attempt, visit, durationMs, startedAt, until, note } = row;
  const took = durationMs ?? (state === 'running' && startedAt !== undefined ? now - startedAt : undefined);
  return [
    took === undefined ? '' : formatDuration(Math.max(0, took)),
    visit > 1 ? `visit ${visit}` : '',
    attempt > 1 ? `attempt ${attempt}` : '',
    until === undefined || until <= now
      ? ''
      : `${state === 'retrying' ? 'again' : 'on'} in ${formatDuration(until - now)}`,
    note === undefined ? '' : `${state === 'waiting' ? 'waits for ' : ''}${printable(note)}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

/** The line of one node, no wider than the screen. */
export function formatRow(
  row: ProgressRow,
  nameWidth: number,
  { width, paint }: Pick<Screen, 'width' | 'paint'>,
  now: number,
): string {
  const [mark, tone] = row.verdict === undefined ? marks[row.state] : markOf(row.verdict);
  const name = pad(fit(printable(row.node), nameWidth), nameWidth);
  const state = pad(fit((row.verdict ?? row.state).replaceAll('_', ' '), 15), 9);
  const room = Math.max(0, width - nameWidth - 8 - widthOf(state));
  return `  ${paint(tone, mark)} ${name}  ${paint(tone, state)}  ${fit(detailsOf(row, now), room)}`.trimEnd();
}

function nameWidthOf(rows: readonly ProgressRow[], width: number): number {
  const widest = Math.max(8, ...rows.map(({ node }) => widthOf(printable(node))));
  return Math.min(widest, Math.max(8, Math.floor(width / 3)));
}

/** Chooses the rows to show if not all fit: running ones first, then those that settled last. Also returns how many are left out. */
function choose(
  rows: readonly ProgressRow[],
  room: number,
): { readonly shown: readonly ProgressRow[]; readonly hidden: number } {
  if (rows.length <= room) return { shown: rows, hidden: 0 };
  const alive = rows.filter(({ state }) => live.includes(state)).slice(0, room - 1);
  const rest = room - 1 - alive.length;
  const others = rest > 0 ? rows.filter((row) => !alive.includes(row)).slice(-rest) : [];
  const chosen = new Set([...alive, ...others]);
  return { shown: rows.filter((row) => chosen.has(row)), hidden: rows.length - chosen.size };
}

export interface LiveView {
  watch(event: WatchedEvent): void;
  /** Draws a last time, with what the run waits for, and leaves the view on the screen. */
  stop(waits: readonly OpenQuestion[]): void;
}

/** A view for pipes and logs: one line for each change, none twice. */
function openPlainView(screen: Screen): LiveView {
  const progress = new Progress();
  const said = new Set<string>();
  const say = (row: ProgressRow): void => {
    // That a node waits is reported only when it is known what it waits for.
    if (row.state === 'running' || (row.state === 'waiting' && row.note === undefined)) return;
    const key = `${row.node} ${row.visit} ${row.attempt} ${row.state} ${row.note ?? ''}`;
    const { rowWidth: width, paint } = screen;
    if (!said.has(key)) screen.note(formatRow(row, nameWidthOf(progress.rows, width), { width, paint }, Date.now()));
    said.add(key);
  };
  return {
    watch: (event) => progress.take(event, Date.now()).forEach(say),
    stop: (waits) => progress.rest(waits, Date.now()).forEach(say),
  };
}

/** A view on a terminal: the same lines, redrawn in place. */
function openTerminalView(screen: Screen): LiveView {
  const progress = new Progress();
  let drawn = 0;
  let isDue = false;
  const draw = (isLast: boolean): void => {
    isDue = false;
    const { rows } = progress;
    const { shown, hidden } = choose(rows, isLast ? longestSummary : Math.max(3, screen.height - 3));
    const now = Date.now();
    const lines = shown.map((row) =>
      formatRow(row, nameWidthOf(rows, screen.width - 1), { width: screen.width - 1, paint: screen.paint }, now),
    );
    if (hidden > 0) lines.push(screen.paint('dim', `  … ${hidden} more settled`));
    const up = drawn > 0 ? `\u001b[${drawn}A` : '';
    process.stderr.write(`${up}\r\u001b[J${lines.map((line) => `${line}\n`).join('')}`);
    drawn = lines.length;
  };
  // Redrawn at fixed intervals, so that durations advance and many events cause only one redraw.
  const beat = setInterval(() => {
    if (isDue || progress.rows.some(({ state, until }) => state === 'running' || until !== undefined)) draw(false);
  }, redrawMs);
  beat.unref();
  return {
    watch(event) {
      if (progress.take(event, Date.now()).length > 0) isDue = true;
    },
    stop(waits) {
      clearInterval(beat);
      progress.rest(waits, Date.now());
      draw(true);
    },
  };
}

/** Opens a view. Progress goes to stderr, because stdout is for the result of the run. */
export function openLiveView(screen: Screen): LiveView {
  return screen.isTerminal && process.stderr.isTTY ? openTerminalView(screen) : openPlainView(screen);
}
