/** What happened within a run, as spans: visits, attempts, model calls, tool calls, steps, waits. Pure. */
import type { Amounts, Story, Visit } from './types.ts';

export type SpanKind = 'visit' | 'model' | 'tool' | 'step' | 'retry' | 'wait';

export interface Span {
  /** Names it in an address: the path of its node, and what it is within that. */
  readonly id: string;
  readonly kind: SpanKind;
  readonly path: readonly string[];
  readonly visit: number;
  /** What it is called within its node; absent for the visit itself. */
  readonly name?: string;
  readonly status: string;
  readonly runId: string;
  readonly seq: number;
  /** Epoch ms. */
  readonly from: number;
  readonly to: number;
  readonly spent?: Amounts;
  readonly error?: Visit['error'];
  /** The full name of a step. */
  readonly step?: string;
  /** Which call of a model of its visit it is, from 0. */
  readonly turn?: number;
}

const kindOfStep = (step: string): SpanKind =>
  step.startsWith('model ') ? 'model' : step.startsWith('tool ') ? 'tool' : 'step';

/** Names of steps end in a hash that tells people nothing; a call of a tool is called like the tool. */
const shortName = (step: string): string => step.replace(/ [\w-]{20,}$/u, '').replace(/^tool /u, '');

function spansOf(visit: Visit, end: number): readonly Span[] {
  const { path, visit: nth, runId, seq, at, durationMs, status, steps, questions, retries, spent, error } = visit;
  const isOpen = status === 'started' || status === 'waiting';
  const to = isOpen ? end : at;
  const from = Math.min(to - (durationMs ?? 0), ...steps.map((step) => step.at), ...questions.map((one) => one.at));
  const own = `${path.join('/')}~${nth}`;
  const about = { path, visit: nth };
  let [before, turn] = [from, 0];
  const inner = steps.map((step, index): Span => {
    const kind = kindOfStep(step.step);
    const begun = step.durationMs === undefined ? before : step.at - step.durationMs;
    if (kind !== 'step') before = step.at;
    return {
      ...about,
      id: `${own}~${index}`,
      kind,
      name: shortName(step.step),
      step: step.step,
      status: step.status,
      runId: step.runId,
      seq: step.seq,
      from: kind === 'step' && step.durationMs === undefined ? step.at : Math.min(begun, step.at),
      to: step.at,
      ...(step.spent !== undefined && { spent: step.spent }),
      ...(step.error !== undefined && { error: step.error }),
      ...(kind === 'model' && { turn: turn++ }),
    };
  });
  const waits = questions.map((one, index): Span => ({
    ...about,
    id: `${own}~w${index}`,
    kind: 'wait',
    name: one.prompt?.split('\n')[0] ?? one.name,
    status: one.closedAt === undefined ? 'waiting' : 'done',
    runId: one.runId,
    seq: one.seq,
    from: one.at,
    to: one.closedAt?.at ?? end,
  }));
  const tries = retries.map((one, index): Span => ({
    ...about,
    id: `${own}~r${index}`,
    kind: 'retry',
    name: `attempt ${one.attempt} failed`,
    status: 'failed',
    runId: one.runId,
    seq: one.seq,
    from: one.at,
    to: one.at,
    ...(one.error !== undefined && { error: one.error }),
  }));
  const head: Span = {
    ...about,
    id: own,
    kind: 'visit',
    status,
    runId,
    seq,
    from,
    to,
    ...(spent !== undefined && { spent }),
    ...(error !== undefined && { error }),
  };
  return [head, ...[...inner, ...waits, ...tries].sort((a, b) => a.from - b.from || a.seq - b.seq)];
}

export function spansIn(story: Story): readonly Span[] {
  return story.entries.flatMap((entry) =>
    entry.kind === 'visit' && !(entry.path.at(-1) ?? '').startsWith('__') ? spansOf(entry, story.endedAt) : [],
  );
}

export const spanSorts = { time: 'by time', cost: 'dearest first', duration: 'longest first' } as const;
export type SpanSort = keyof typeof spanSorts;

export interface SpanFilter {
  /** A part of its name or of its node's path. */
  readonly text: string;
  readonly kind: SpanKind | undefined;
  readonly isFailed: boolean;
  readonly sort: SpanSort;
}

/** What a span cost; where there are no prices, its tokens tell which is dearer. */
const costOf = ({ spent = {} }: Span): number =>
  (spent['usd'] ?? spent['cost'] ?? 0) * 1e9 + (spent['inputTokens'] ?? 0) + (spent['outputTokens'] ?? 0);

export function chosenSpans(spans: readonly Span[], { text, kind, isFailed, sort }: SpanFilter): readonly Span[] {
  const sought = text.toLowerCase();
  const fitting = spans.filter(
    (span) =>
      (kind === undefined || span.kind === kind) &&
      (!isFailed || span.status === 'failed') &&
      (sought === '' || `${span.path.join('/')} ${span.name ?? ''}`.toLowerCase().includes(sought)),
  );
  if (sort === 'cost') {
    // A visit costs what its calls cost: what is compared is what was called.
    const calls = fitting.filter((span) => span.kind !== 'visit' && costOf(span) > 0);
    return (calls.length > 0 ? calls : fitting).toSorted((a, b) => costOf(b) - costOf(a));
  }
  return sort === 'duration' ? fitting.toSorted((a, b) => b.to - b.from - (a.to - a.from)) : fitting;
}
