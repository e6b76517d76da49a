/** Reads how a run stands that is not advanced here, from its history. */
import type { Graph } from '../../graph/graph.ts';
import { loadState } from '../../history/load/load.ts';
import type { RunRow } from '../../ports/store.ts';
import type { RunHandle, RunResult } from '../api.ts';
import type { EngineEnvironment } from '../run/run-core.ts';
import { streamEvents } from './event-stream.ts';
import { restingFrame, resultOf } from './run-result.ts';

export async function inspectRow(
  { store, blobs }: EngineEnvironment,
  run: RunRow,
  graph: Graph,
  seq: number = run.head,
): Promise<RunResult> {
  const loaded = await loadState(store, blobs, run, seq);
  return resultOf(run.runId, loaded.seq, loaded.root, restingFrame(loaded.root, graph));
}

export function restingHandle(env: EngineEnvironment, run: RunRow, graph: Graph, created: boolean): RunHandle {
  return {
    runId: run.runId,
    created,
    result: async () => inspectRow(env, run, graph),
    events: (options = {}) => streamEvents(env, run.runId, undefined, graph, options),
  };
}
