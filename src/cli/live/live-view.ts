/** Shows a run's progress: on a terminal a view that is redrawn in place, elsewhere one line for each event. */
import { describeWorker } from '../../app/process/process-ids.ts';
import type { OpenQuestion } from '../../operations/waits/find-wait.ts';
import type { WatchedEvent } from '../../operations/contract/operation.ts';
import { purposeOf } from '../text/wait-text.ts';
import type { Screen } from '../screen.ts';
import { printable } from '../../operations/format/terminal.ts';
import { toneOf, type Tone } from '../text/tone.ts';
import { formatDuration } from '../../operations/format/time.ts';
import { fit, pad, widthOf } from '../text/width.ts';

// What a run is doing, derived from its events: one row for each node.

export type RowState =
  | 'running'
  | 'waiting'
  | 'retrying'
  | 'completed'
  | 'failed'
  | 'skipped'
  | 'cancelled'
  | 'replayed';

export interface ProgressRow {
  /** Node path joined with `/`. */
  readonly node: string;
  readonly state: RowState;
  /** What a node that completed says of its own work, if it did not quite succeed. */
  readonly verdict?: string;
  readonly attempt: number;
  readonly visit: number;
  /** When it was first seen working, in epoch ms; rows are sorted by this. */
  readonly since: number;
  /** When the attempt was seen to start, in epoch ms; absent for nodes that had ended before. */
  readonly startedAt?: number;
  readonly durationMs?: number;
  /** When it goes on by itself, in epoch ms. */
  readonly until?: number;
  /** What it waits for, or why it failed. */
  readonly note?: string;
}

const settled: readonly RowState[] = ['completed', 'failed', 'skipped', 'cancelled'];

function isSettled(status: string | undefined): status is RowState {
  return settled.some((each) => each === status);
}

type Part = Extract<WatchedEvent, { readonly type: 'checkpoint' }>['change'][number];
type RowChange = { readonly [Key in keyof ProgressRow]?: ProgressRow[Key] | undefined };

/** What a part of a checkpoint says about its node; undefined if rows do not show it. */
function readPart({ kind, status = 'completed', verdict, durationMs, error }: Part, at: number): RowChange | undefined {
  switch (kind) {
    case 'settle': {
      const note = error === undefined ? undefined : `${error.code}: ${error.message}`;
      return isSettled(status) ? { state: status, verdict, durationMs, until: undefined, note } : undefined;
    }
    case 'replay':
      return { state: 'replayed', verdict, durationMs: undefined, note: undefined };
    case 'intent':
      return { state: 'running', startedAt: at };
    case 'retry':
      return { state: 'retrying', note: error?.message };
    case 'wait':
      return { state: 'waiting' };
    case 'answer':
      return { state: 'running', note: undefined };
    default:
      return undefined;
  }
}

type Live = Exclude<WatchedEvent, { readonly type: 'checkpoint' | 'state' }>;

interface LiveDetail {
  readonly wait?: OpenQuestion;
  readonly retryAt?: number;
  readonly attempt?: number;
  readonly owner?: string;
  readonly until?: number;
}

/** What a live event says. Its detail is internal to the engine, so fields are used only if they are as expected. */
function readLive({ type, detail }: Live, now: number): RowChange | undefined {
  const { wait, retryAt, attempt, owner, until } = (detail ?? {}) as LiveDetail;
  if (type === 'started')
    return {
      state: 'running',
      verdict: undefined,
      startedAt: now,
      durationMs: undefined,
      until: undefined,
      note: undefined,
    };
  if (type === 'waiting' && until !== undefined)
    return { state: 'waiting', until, note: `${describeWorker(owner ?? 'a process')}, which may be in its effect` };
  if (type === 'waiting')
    return wait === undefined ? { state: 'waiting' } : { state: 'waiting', until: wait.dueAt, note: purposeOf(wait) };
  if (type !== 'retrying') return undefined;
  return { state: 'retrying', until: retryAt, ...(attempt !== undefined && { attempt }) };
}

/** Rows by node, in the order in which nodes began. */
export class Progress {
  readonly #rows = new Map<string, ProgressRow>();

  get rows(): readonly ProgressRow[] {
    return [...this.#rows.values()].sort((a, b) => a.since - b.since);
  }

  /** Applies an event. @returns the rows that changed */
  take(event: WatchedEvent, now: number): readonly ProgressRow[] {
    if (event.type === 'state') return [];
    if (event.type !== 'checkpoint') {
      const change = readLive(event, now);
      return change === undefined ? [] : [this.#set(event.node, now, change)];
    }
    return event.change.flatMap((part) => {
      const change = readPart(part, event.at);
      if (part.node === undefined || part.node.length === 0 || change === undefined) return [];
      const { attempt, visit } = part.step === undefined ? part : { attempt: undefined, visit: part.visit };
      const since = event.at - (part.durationMs ?? 0);
      return [
        this.#set(part.node, since, {
          ...(attempt !== undefined && { attempt }),
          ...(visit !== undefined && { visit }),
          ...change,
        }),
      ];
    });
  }

  /** Applies where the run stopped: a node that stopped at a wait is not working any more. @returns the rows of the waits */
  rest(waits: readonly OpenQuestion[], now: number): readonly ProgressRow[] {
    return waits.map((wait) =>
      this.#set(wait.node, now, { state: 'waiting', until: wait.dueAt, note: purposeOf(wait) }),
    );
  }

  #set(path: readonly string[], since: number, change: RowChange): ProgressRow {
    const node = path.join('/');
    const known = this.#rows.get(node) ?? { node, state: 'running' as const, attempt: 1, visit: 1, since };
    // Attempts are counted anew in each visit.
    const isNewVisit =
      isSettled(known.state) ||
      known.state === 'replayed' ||
      (change.visit !== undefined && change.visit !== known.visit);
    const before = isNewVisit ? { ...known, attempt: 1 } : known;
    // A value of `undefined` removes the field.
    const row = Object.fromEntries(
      Object.entries({ ...before, ...change }).filter(([, value]) => value !== undefined),
    ) as unknown as ProgressRow;
    this.#rows.set(node, row);
    return row;
  }
}

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

/** Chooses the rows to show if not all fit: running ones first, then those that settled last. Also returns how many are omitted. */
function choose(
  rows: readonly ProgressRow[],
  room: number,
): { readonly visible: readonly ProgressRow[]; readonly hidden: number } {
  if (rows.length <= room) return { visible: rows, hidden: 0 };
  const alive = rows.filter(({ state }) => live.includes(state)).slice(0, room - 1);
  const rest = room - 1 - alive.length;
  const others = rest > 0 ? rows.filter((row) => !alive.includes(row)).slice(-rest) : [];
  const chosen = new Set([...alive, ...others]);
  return { visible: rows.filter((row) => chosen.has(row)), hidden: rows.length - chosen.size };
}

export interface LiveView {
  watch(event: WatchedEvent): void;
  /** Draws a last time, with what the run waits for, and leaves the view on the screen. */
  stop(waits: readonly OpenQuestion[]): void;
}

/** A view for pipes and logs: one line for each change, none twice. */
function openPlainView(screen: Screen): LiveView {
  const progress = new Progress();
  const reported = new Set<string>();
  const say = (row: ProgressRow): void => {
    // That a node waits is reported only when it is known what it waits for.
    if (row.state === 'running' || (row.state === 'waiting' && row.note === undefined)) return;
    const key = `${row.node} ${row.visit} ${row.attempt} ${row.state} ${row.note ?? ''}`;
    const { rowWidth: width, paint } = screen;
    if (!reported.has(key))
      screen.note(formatRow(row, nameWidthOf(progress.rows, width), { width, paint }, Date.now()));
    reported.add(key);
  };
  return {
    watch: (event) => progress.take(event, Date.now()).forEach(say),
    stop: (waits) => progress.rest(waits, Date.now()).forEach(say),
  };
}

/** A view on a terminal: the same lines, redrawn in place. */
function openTerminalView(screen: Screen, redraw: NonNullable<Screen['redraw']>): LiveView {
  const progress = new Progress();
  let drawn = 0;
  let isDue = false;
  const draw = (isLast: boolean): void => {
    isDue = false;
    const { rows } = progress;
    const { visible, hidden } = choose(rows, isLast ? longestSummary : Math.max(3, screen.height - 3));
    const now = Date.now();
    const lines = visible.map((row) =>
      formatRow(row, nameWidthOf(rows, screen.width - 1), { width: screen.width - 1, paint: screen.paint }, now),
    );
    if (hidden > 0) lines.push(screen.paint('dim', `  … ${hidden} more settled`));
    redraw(drawn, lines);
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
  return screen.redraw === undefined ? openPlainView(screen) : openTerminalView(screen, screen.redraw);
}
