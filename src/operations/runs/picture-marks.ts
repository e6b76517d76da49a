/**
 * A post-mortem as marks on the picture of its graph: how each node ended last, in colour and in words, and how often each edge was taken.
 */
import type { PictureMarks, PictureTone } from '../../dialects/dot/picture/picture.ts';
import { START } from '../../graph/graph.ts';
import type { PostMortem, StoryVisit } from '../../history/explain/story.ts';

/** Of a node that completed and says of itself that it did not quite succeed. Any other word is a warning. */
const byVerdict: Readonly<Record<string, PictureTone>> = { fail: 'bad', retry: 'bad', skipped: 'skipped' };
const byStatus: Readonly<Record<StoryVisit['status'], PictureTone>> = {
  completed: 'good',
  failed: 'bad',
  skipped: 'skipped',
  cancelled: 'skipped',
  waiting: 'warn',
  started: 'running',
};

/** The tone of how a visit ended: by its own word, else by its status. */
export function toneOfVisit(visit: StoryVisit): PictureTone {
  return standingOf(visit)[0];
}

/** The tone, and the word for it; no word if all is well. */
function standingOf({
  status,
  verdict,
  attempts,
  questions,
  isUnfinished,
}: StoryVisit): readonly [tone: PictureTone, word: string] {
  if (isUnfinished === true) return ['skipped', 'not ended'];
  if (attempts === undefined) {
    const isWaiting = status === 'waiting' || questions.some(({ closedAt }) => closedAt === undefined);
    return isWaiting ? ['warn', 'waiting'] : ['running', 'running'];
  }
  if (verdict !== undefined) return [byVerdict[verdict] ?? 'warn', verdict.replaceAll('_', ' ')];
  const tone = byStatus[status];
  return [tone, tone === 'good' ? '' : status];
}

/** The nodes of a path; the names of the child runs between them are no part of a graph. */
function nodesIn(path: readonly string[]): readonly string[] {
  return path.filter((_, index) => index % 2 === 0);
}

export function marksOf({ entries }: Pick<PostMortem, 'entries'>): PictureMarks {
  const visited = entries.filter((entry) => entry.kind === 'visit');
  const nodes = new Map<string, { readonly tone: PictureTone; readonly note?: string }>();
  const visits = new Map<string, number>();
  const taken = new Map<string, number>();
  /** Nodes to which an edge led, by their paths in the runs that they are of. */
  const reached = new Set<string>();
  const take = (frame: readonly string[], from: string, to: string): void => {
    const key = `${[...nodesIn(frame), from].join('/')}\n${to}`;
    taken.set(key, (taken.get(key) ?? 0) + 1);
    reached.add([...frame, to].join('\0'));
  };
  for (const visit of visited) {
    const frame = visit.path.slice(0, -1);
    const place = nodesIn(visit.path).join('/');
    const count = (visits.get(place) ?? 0) + 1;
    visits.set(place, count);
    const [tone, word] = standingOf(visit);
    const note = [word, timesOf(count, 'visit'), timesOf(attemptsOf(visit), 'attempt')].filter(Boolean).join(', ');
    nodes.set(place, { tone, ...(note !== '' && { note }) });
    for (const { to, fired } of visit.edges) if (fired) take(frame, visit.path.at(-1) ?? '', to);
  }
  // The start of a run fires with its first nodes, and has no visit of its own: they are those to which nothing led.
  for (const { path } of visited) if (!reached.has(path.join('\0'))) take(path.slice(0, -1), START, path.at(-1) ?? '');
  return { nodes, taken };
}

function timesOf(count: number, what: string): string {
  return count > 1 ? `${count} ${what}s` : '';
}

/** Attempts of the node, or of the step that took the most. */
function attemptsOf({ attempts = 1, retries }: StoryVisit): number {
  return Math.max(attempts, ...retries.map(({ attempt }) => attempt + 1));
}
