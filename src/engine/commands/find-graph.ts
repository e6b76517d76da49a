/** Finds the graph with an id: by its name, or by compiling the text recorded with it (H3). */
import { CairnError, commandText } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import { loadState } from '../../history/load/load.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import type { RunRow } from '../../ports/store.ts';
import { readBlobValue } from '../../history/stored/checkpoint.ts';
import type { EngineOptions } from '../api.ts';

export { metaOf } from '../../history/stored/stored-meta.ts';

/** @throws CONFIG_INVALID the graph is not known here; errors of reading its text: BLOB_NOT_FOUND, BLOB_CORRUPT, CHECKPOINT_CORRUPT */
export async function findGraphOf(
  options: Pick<EngineOptions, 'findGraph' | 'store' | 'blobs'>,
  run: RunRow,
): Promise<Graph> {
  const readText = (): Promise<string | undefined> => readGraphText(options, run);
  const meta = await fileOf(options, run);
  const graph = await options.findGraph?.(run.graphId, run.graphHash, meta, readText);
  if (graph === undefined)
    throw new CairnError('CONFIG_INVALID', {
      reason: `the graph ${run.graphId} of run ${run.runId} is not known here`,
      hint: `Name the module that it is in: ${commandText('resume', run.runId, '--file', 'MODULE')}; in a program, resume by the graph.`,
    });
  return graph;
}

/**
 * The source text of the graph that the run was last advanced under. The run's row has the text from its start; its state has a later one.
 */
export async function readGraphText(
  { store, blobs }: Pick<EngineOptions, 'store' | 'blobs'>,
  run: RunRow,
): Promise<string | undefined> {
  const { text, graphHash } = metaOf(run);
  if (graphHash !== run.graphHash) {
    const { definition } = (await loadState(store, blobs, run)).root;
    if (definition !== undefined) return definition.text;
  }
  return text === undefined ? undefined : ((await readBlobValue(blobs, run.tenant, text)) as string);
}

/** The meta of a run with the file that it goes on with: a resume may have named another one than it was started with. */
export async function fileOf(
  { store, blobs }: Pick<EngineOptions, 'store' | 'blobs'>,
  run: RunRow,
): Promise<ReturnType<typeof metaOf>> {
  const meta = metaOf(run);
  if (meta.source === undefined) return meta;
  const { definition } = (await loadState(store, blobs, run)).root;
  if (definition?.source === undefined) return meta;
  const { exportName: _, ...rest } = meta;
  const { source, exportName } = definition;
  return { ...rest, source, ...(exportName !== undefined && { exportName }) };
}
