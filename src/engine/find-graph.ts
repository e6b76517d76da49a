/** The graph of a run, for those who have only its id. */
import { CairnError } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';
import type { RunRow } from '../ports/store.ts';
import type { EngineOptions } from './api.ts';
import type { StoredMeta } from './admit-run.ts';

const decoder = new TextDecoder();

/** What a run's row keeps beside the run. */
export function metaOf(run: RunRow): StoredMeta {
  return run.meta.byteLength === 0 ? {} : (JSON.parse(decoder.decode(run.meta)) as StoredMeta);
}

/** @throws CONFIG_INVALID nobody here knows the graph */
export async function findGraphOf(options: Pick<EngineOptions, 'findGraph'>, run: RunRow): Promise<Graph> {
  const graph = await options.findGraph?.(run.graphId, run.graphHash, metaOf(run));
  if (graph === undefined)
    throw new CairnError('CONFIG_INVALID', {
      reason: `the graph ${run.graphId} of run ${run.runId} is not known here: give it, or a way to find it`,
    });
  return graph;
}
