/** Reads where a run stood at a checkpoint, with its graph, or with what is recorded of it where the graph is not known. */
import type { RunProgress, RunResult } from '../../engine/api.ts';
import { positionsOf, progressOf } from '../../engine/watch/progress.ts';
import { restingFrame, resultOf, standingOf, withFailures } from '../../engine/watch/event-stream.ts';
import { metaOf } from '../../engine/commands/find-graph.ts';
import { CairnError } from '../../errors.ts';
import type { StateView } from '../../graph/contracts/node-contract.ts';
import type { Graph, GraphStructure } from '../../graph/graph.ts';
import { loadState } from '../../history/load/load.ts';
import { type AwaitedEffect, awaitedEffects } from '../../history/read/awaited-effects.ts';
import { viewState } from '../../history/read/checkpoint-view.ts';
import { readStructure } from '../../history/explain/structures.ts';
import type { RunTree } from '../../state/tree.ts';
import type { RunRow } from '../../ports/store.ts';
import type { WorkContext } from '../contract/operation.ts';

/** A run at one of its checkpoints. */
export interface StandingAt {
  readonly result: RunResult;
  readonly progress: RunProgress;
  readonly awaits: readonly AwaitedEffect[];
}

/**
 * Reads the standing. Where the graph is not known, nodes that routing passed over are listed only if they are recorded as skipped.
 * A run without a recorded structure, as a thread of another runtime is, has the nodes that are on record.
 * @throws CHECKPOINT_* as loading
 */
export async function readStandingAt(context: WorkContext, run: RunRow, seq: number): Promise<StandingAt> {
  const { store, blobs } = context;
  const { runId, graphId } = run;
  const graph = await findKnown(context, run);
  const { root } = await loadState(store, blobs, run, seq);
  const awaits = awaitedEffects(run, root);
  if (!CairnError.is(graph)) {
    const result = await withFailures(context, run, resultOf(runId, seq, root, restingFrame(root, graph)));
    return { result, progress: progressOf(root, graph, result.skipped), awaits };
  }
  const structure = (await readStructure(context, { run, seq })) ?? recordedStructure(run, root);
  const { skippedNodes } = positionsOf(root, undefined);
  const nodes = structure.nodes.map(({ id }) => ({ id: String(id) }));
  const state = viewState(root).state as StateView;
  const result = { ...standingOf(runId, graphId, seq, root, skippedNodes), state };
  return {
    result: await withFailures(context, run, result),
    progress: progressOf(root, { nodes, structure, text: metaOf(run).text }, skippedNodes),
    awaits,
  };
}

/** What is on record of a graph whose structure is not: its nodes, in the order of their first visits. */
function recordedStructure({ graphId: id }: RunRow, { frame: { nodes } }: RunTree): GraphStructure {
  const known = Object.keys(nodes).map((node) => ({ id: node }));
  return { id, nodes: known, edges: [], reducers: {}, schemas: {}, policies: {} } as unknown as GraphStructure;
}

/** The graph; or why it is not known: nobody registered it, its module is gone or is not imported, its text cannot be read any more. */
async function findKnown(context: WorkContext, run: RunRow): Promise<Graph | CairnError> {
  try {
    return await context.findGraph(run);
  } catch (error) {
    if (CairnError.is(error) && !error.code.startsWith('STORE_')) return error;
    throw error;
  }
}
