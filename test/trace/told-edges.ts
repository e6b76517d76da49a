/** What a post-mortem tells of the edges of a run, for tests. */
import { explainChoice } from '../../src/dialects/explain-choice.ts';
import { postMortem } from '../../src/history/explain/post-mortem.ts';
import type { PostMortem, StoryVisit } from '../../src/history/explain/story.ts';
import { rowOf, type Bench } from '../engine-kit.ts';

/** @param seq - the checkpoint up to which is told; default: the newest */
export async function tell(bench: Bench, runId: string, seq?: number): Promise<PostMortem> {
  const run = await rowOf(bench, runId);
  const place = {
    tenant: run.tenant,
    store: bench.store,
    blobs: bench.options.blobs,
    isWorkerDead: () => undefined,
    now: () => 0,
    explainChoice: () => Promise.resolve(explainChoice),
  };
  return postMortem(place, { run, seq: seq ?? run.head });
}

export function visitsOf({ entries }: PostMortem): readonly StoryVisit[] {
  return entries.filter((entry): entry is StoryVisit => entry.kind === 'visit');
}

/** The edges of a visit, a line each. The node is named by its path, joined with `/`. */
export function edgesOf(story: PostMortem, path: string, visit = 1): readonly string[] {
  const found = visitsOf(story).find((one) => one.path.join('/') === path && one.visit === visit);
  if (found === undefined) throw new Error(`${path} has no visit ${visit}`);
  return found.edges.map(({ to, condition = '', fired, holds, because }) =>
    [fired ? '->' : '--', to, condition, ...(holds === undefined ? [] : [String(holds)]), because]
      .filter((text) => text !== '')
      .join(' '),
  );
}
