/**
 * What a reader of a post-mortem asks first: why the run failed, what it waits for, what failed on the way, and how its goal gates ended.
 */
import type { PostMortem } from '../../history/explain/story.ts';
import { reason, type StoryWords, type VisitWords } from './story-words.ts';

/** One line, and the visit that it is about, if any. */
export interface SummaryLine {
  readonly text: string;
  readonly visit?: VisitWords;
}

export interface StorySummary {
  /** How a pipeline says that it ended, such as `partial_success`. Absent if it is a success, and for what is no pipeline. */
  readonly outcome?: string;
  /** Why the run failed: a line for each node. */
  readonly failures: readonly SummaryLine[];
  /** What it waits for. */
  readonly open: readonly SummaryLine[];
  /** How each goal gate of a pipeline ended. */
  readonly gates: readonly (readonly [gate: string, how: string])[];
  /** What failed while the run went on, and where that led. */
  readonly failedOnTheWay: readonly SummaryLine[];
}

const failedOutcomes: ReadonlySet<string> = new Set(['failed', 'fail', 'retry']);

/** @param words - the same story in words, whose visits the lines name */
export function storySummary({ failures, result }: PostMortem, { entries }: StoryWords): StorySummary {
  const visits = entries.filter((entry) => entry.kind === 'visit');
  const final = Object.entries(failures).map(([node, error]): SummaryLine => {
    const visit = visits.findLast((one) => pathOf(one) === node);
    return { text: `${node} failed${reason(error)}`, ...(visit !== undefined && { visit }) };
  });
  const { status, gates } = (result ?? {}) as { readonly status?: unknown; readonly gates?: object | null };
  return {
    ...(typeof gates === 'object' && typeof status === 'string' && status !== 'success' && { outcome: status }),
    failures: final,
    open: visits.flatMap((visit) =>
      visit.notes.flatMap(({ kind, text }) => (kind === 'open' ? [{ text: `${pathOf(visit)} ${text}`, visit }] : [])),
    ),
    gates: Object.entries(gates ?? {}).map(([gate, how]) => [gate, String(how)] as const),
    failedOnTheWay: visits.filter(isFailure).flatMap((visit) => {
      if (final.some((line) => line.visit === visit)) return [];
      return [{ text: `${pathOf(visit)}: ${reasonOf(visit)}${ledTo(visit)}`, visit }];
    }),
  };
}

function pathOf({ visit }: VisitWords): string {
  return visit.path.join('/');
}

/** A diamond passes on how the stage before it ended. */
function isFailure({ outcome, visit }: VisitWords): boolean {
  return failedOutcomes.has(outcome) && visit.type !== 'conditional';
}

function reasonOf({ notes, edges, outcome }: VisitWords): string {
  const failure = notes.findLast(({ kind }) => kind === 'failure')?.text;
  return failure ?? edges.find(({ fired }) => fired)?.why.at(-1) ?? outcome;
}

function ledTo({ edges }: VisitWords): string {
  const targets = edges.flatMap(({ fired, target }) => (fired ? [target] : []));
  return targets.length === 0 ? '' : ` → ${targets.join(', ')}`;
}
