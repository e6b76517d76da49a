/** The items of a data set: recorded runs, chosen by what the store knows of them. */
import { seededRandom } from '../ports/seeded-random.ts';
import { CairnError } from '../errors.ts';
import { ageMs } from '../graph/retention.ts';
import type { History } from '../history/history.ts';
import { isOfExperiment } from '../history/stored/run-ids.ts';
import type { Labels } from '../ports/store.ts';
import type { DatasetInput } from './datasets.ts';

/** Which runs. All conditions must hold. */
export interface Dataset {
  /** These runs, by their ids. */
  readonly runs?: readonly string[];
  /** Inputs that no run was recorded of: each arm runs anew on them, and cannot act either. */
  readonly inputs?: readonly DatasetInput[];
  /** Runs of this graph. Default: of the experiment's. */
  readonly graph?: string;
  /** Runs that have all of these labels. */
  readonly labels?: Labels;
  /** Runs that began since: an age (`30d`, `12h`), or epoch ms. */
  readonly since?: string | number;
  /** Default `completed`. */
  readonly status?: 'completed' | 'failed' | 'cancelled' | 'paused';
  /** At most so many, drawn by chance. Default: all. */
  readonly sample?: number;
  /** Of the draw. Default 1. */
  readonly seed?: number;
}

function startOf(since: string | number, now: number): number {
  if (typeof since === 'number') return since;
  const ms = ageMs(since);
  if (ms !== undefined) return now - ms;
  throw new CairnError('CONFIG_INVALID', {
    path: 'dataset.since',
    reason: `${JSON.stringify(since)} is no age: give 30d, 12h, 90m, or epoch ms`,
  });
}

/** Ids of the items, oldest first. What experiments made is no item. */
export async function selectItems(
  history: Pick<History, 'list'>,
  graphId: string,
  { runs, inputs, graph = graphId, labels, since, status = 'completed', sample, seed = 1 }: Dataset,
  now: number,
): Promise<readonly string[]> {
  const found = runs === undefined ? [] : [...runs];
  if (runs === undefined && inputs === undefined) {
    const query = {
      graphId: graph,
      status: [status],
      ...(labels && { labels }),
      ...(since !== undefined && { since: startOf(since, now) }),
    };
    for await (const { runId, parent } of history.list(query))
      if (parent === undefined && !isOfExperiment(runId)) found.push(runId);
    found.reverse();
  }
  if (sample === undefined || sample >= found.length) return found;
  const random = seededRandom(seed);
  // The first of a shuffled list are a draw without replacement; they keep their order.
  const drawn = found.map((id, index) => ({ id, index, key: random() })).toSorted((a, b) => a.key - b.key);
  return drawn
    .slice(0, sample)
    .toSorted((a, b) => a.index - b.index)
    .map(({ id }) => id);
}
