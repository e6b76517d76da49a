/** A post-mortem as marks on the picture of its graph: how each node ended last, and how often each edge was taken. */
import type { PictureMarks, PictureTone } from '../../dialects/dot/picture/picture.ts';
import type { PostMortem, ToldVisit } from '../../history/trace/story.ts';

const byOutcome: Readonly<Record<string, PictureTone>> = {
  success: 'good',
  partial_success: 'warn',
  fail: 'bad',
  retry: 'bad',
  skipped: 'skipped',
};
const byStatus: Readonly<Record<ToldVisit['status'], PictureTone>> = {
  completed: 'good',
  failed: 'bad',
  skipped: 'skipped',
  cancelled: 'skipped',
  waiting: 'warn',
  started: 'running',
};

/** A stage of a pipeline says itself how it ended; of any other node its status does. */
export function toneOfVisit({ status, value, attempts }: ToldVisit): PictureTone {
  if (attempts === undefined) return status === 'waiting' ? 'warn' : 'running';
  const outcome = (value as { readonly outcome?: unknown } | null | undefined)?.outcome;
  const tone = typeof outcome === 'string' && Object.hasOwn(byOutcome, outcome) ? byOutcome[outcome] : undefined;
  return status === 'completed' && tone !== undefined ? tone : byStatus[status];
}

/** The nodes of a visit's path; the names of the child runs between them are no part of a graph. */
function nodesIn(path: readonly string[]): readonly string[] {
  return path.filter((_, index) => index % 2 === 0);
}

export function marksOf({ entries }: Pick<PostMortem, 'entries'>): PictureMarks {
  const nodes = new Map<string, { readonly tone: PictureTone; readonly note?: string }>();
  const visits = new Map<string, number>();
  const taken = new Map<string, number>();
  for (const entry of entries) {
    if (entry.kind !== 'visit') continue;
    const path = nodesIn(entry.path);
    const place = path.join('/');
    const count = (visits.get(place) ?? 0) + 1;
    visits.set(place, count);
    const notes = [count > 1 ? `${count} visits` : '', (entry.attempts ?? 1) > 1 ? `${entry.attempts} attempts` : ''];
    const note = notes.filter((text) => text !== '').join(', ');
    nodes.set(place, { tone: toneOfVisit(entry), ...(note !== '' && { note }) });
    for (const { to, fired } of entry.edges) {
      const key = `${place}\n${to}`;
      if (fired) taken.set(key, (taken.get(key) ?? 0) + 1);
    }
  }
  // The start of a graph fires with its first nodes, and no visit of it is told.
  for (const place of nodes.keys()) {
    const path = place.split('/');
    const frame = path.slice(0, -1).map((id) => `${id}/`);
    const isLedTo = [...taken.keys()].some((key) => key.startsWith(frame.join('')) && key.endsWith(`\n${path.at(-1)}`));
    if (!isLedTo) taken.set(`${frame.join('')}__start__\n${path.at(-1)}`, 1);
  }
  return { nodes, taken };
}
