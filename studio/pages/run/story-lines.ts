/** The words of a story: what an entry is called, and how it stands. Pure. */
import type { RunEvent, Story, Visit } from '../../data/types.ts';
import { shortStep, type Tone } from '../../words.ts';

/** Entries of a page. */
export const entriesMax = 500;

/** Pages of a story that were read before its newest one. */
export interface EarlierPages {
  /** The page that they stand before: if that moves on, they are read anew. */
  readonly of: string;
  readonly entries: Story['entries'];
  readonly before: string | undefined;
}

/** The newest page with those before it. */
export function withPages(newest: Story, { entries, before }: EarlierPages): Story {
  const { before: _, ...rest } = newest;
  return { ...rest, entries: [...entries, ...newest.entries], ...(before !== undefined && { before }) };
}

const eventWords: Readonly<Record<RunEvent['kind'], readonly [string, Tone]>> = {
  start: ['The run began', 'idle'],
  fork: ['The run was forked', 'idle'],
  resume: ['The run went on', 'idle'],
  pause: ['The run waits', 'sleeping'],
  cancel: ['The run was cancelled', 'cancelled'],
  fail: ['The run fails; what follows that is next', 'failed'],
  end: ['The run ended', 'idle'],
  fold: ['What came before was pruned', 'idle'],
};

/** An event of the run on one line: `The run ended: failed by ann`. */
export function eventLine({ kind, by, status, from }: RunEvent): { readonly title: string; readonly tone: Tone } {
  const [words, tone] = eventWords[kind];
  const ends: Readonly<Record<string, Tone>> = { completed: 'completed', failed: 'failed', cancelled: 'cancelled' };
  const more = [
    ...(kind === 'end' && status !== undefined ? [`: ${status}`] : []),
    ...(by === undefined ? [] : [` by ${by}`]),
    ...(from === undefined ? [] : [` from ${from.runId}@${from.seq}`]),
  ];
  return { title: `${words}${more.join('')}`, tone: (kind === 'end' && ends[status ?? '']) || tone };
}

/** How a visit stands. */
export function toneOf({ status, questions, isUnfinished }: Visit): Tone {
  const open = questions.filter(({ closedAt }) => closedAt === undefined);
  if (isUnfinished !== true && open.some(({ kind }) => kind === 'doubt')) return 'doubt';
  if (status === 'waiting') return open.some(({ kind }) => kind === 'question') ? 'waiting' : 'sleeping';
  const tones: Readonly<Record<string, Tone>> = {
    started: 'running',
    completed: 'completed',
    failed: 'failed',
    skipped: 'skipped',
    cancelled: 'cancelled',
  };
  return isUnfinished === true ? 'cancelled' : (tones[status] ?? 'idle');
}

/** Steps that are named; of more, such as the items of a list, it is told how many there are. */
const namesMax = 12;

/** The steps of a visit on one line: `model ×3, tool orders failed`. */
export function stepWords(steps: Visit['steps']): string {
  const counts = new Map<string, number>();
  for (const { step, status } of steps) {
    const name = `${shortStep(step)}${status === 'failed' ? ' failed' : ''}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  if (counts.size > namesMax) {
    const failed = steps.filter(({ status }) => status === 'failed').length;
    return `${steps.length} steps${failed === 0 ? '' : `, ${failed} of them failed`}`;
  }
  return [...counts].map(([name, times]) => (times === 1 ? name : `${name} ×${times}`)).join(', ');
}
