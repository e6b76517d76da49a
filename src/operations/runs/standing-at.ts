/** Reads where a run stood at a checkpoint. Its graph is used, so that skipped nodes are known too. */
import type { RunProgress, RunResult } from '../../engine/api.ts';
import { progressOf } from '../../engine/watch/progress.ts';
import { restingFrame, resultOf } from '../../engine/watch/event-stream.ts';
import { loadState } from '../../history/load/load.ts';
import type { RunRow } from '../../ports/store.ts';
import type { WorkContext } from '../declare/operation.ts';

/** A run at one of its checkpoints. */
export interface StandingAt {
  readonly result: RunResult;
  readonly progress: RunProgress;
}

/**
 * Reads the standing.
 * @throws CONFIG_INVALID the graph is not known here; GRAPH_* it cannot be read any more; CHECKPOINT_* as loading
 */
export async function readStandingAt(context: WorkContext, run: RunRow, seq: number): Promise<StandingAt> {
  const graph = await context.findGraph(run);
  const { root } = await loadState(context.store, context.blobs, run, seq);
  const result = resultOf(run.runId, seq, root, restingFrame(root, graph));
  return { result, progress: progressOf(root, graph, result.skipped) };
}
