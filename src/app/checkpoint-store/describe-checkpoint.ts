/** Converts a checkpoint of a run to the format of checkpoint stores. */
import { START, type Graph } from '../../graph/graph.ts';
import { checkpointId, decodeCheckpoint } from '../../history/stored/checkpoint.ts';
import { durationsOf, nodeOf, positionsOf, resultOfNode } from '../../engine/watch/whole-checkpoint.ts';
import { viewState } from '../../history/read/state-view.ts';
import type { Checkpoint } from '../../ports/checkpoint-store.ts';
import type { CheckpointRow, RunRow } from '../../ports/store.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { RunTree } from '../../state/tree.ts';

/** A value as plain JSON, which is all that a checkpoint store may contain. */
export function plain(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(encodeValue(value)) as unknown);
}

interface Described {
  readonly run: RunRow;
  readonly row: CheckpointRow;
  readonly root: RunTree;
  readonly graph: Graph | undefined;
  /** The checkpoint saved before. It knows the durations of nodes that had completed by then. */
  readonly before: Checkpoint | undefined;
  readonly history: string;
}

/** Describes a run at one of its checkpoints. */
export function describeCheckpoint({ run, row, root, graph, before, history }: Described): Checkpoint {
  const { input, scratch, artifacts, diagnostics, outputs } = viewState(root).state;
  const { change } = decodeCheckpoint({ runKey: run.key, seq: row.seq }, undefined, row);
  const durations = new Map(durationsOf(change));
  const positions = positionsOf(root, graph);
  const results = positions.visitedNodes.map((id) => {
    const durationMs = durations.get(id) ?? before?.nodeResults[id]?.durationMs;
    return [id, resultOfNode(graph, id, plain(outputs[id]), durationMs)] as const;
  });
  return {
    id: checkpointId(run.key, row.seq),
    graphId: run.graphId,
    runId: run.runId,
    nodeId: nodeOf(change) ?? before?.nodeId ?? START,
    timestamp: row.at,
    state: {
      input: plain(input),
      scratch: plain(scratch),
      artifacts: plain(artifacts),
      diagnostics: plain(diagnostics),
    },
    nodeResults: Object.fromEntries(results),
    ...positions,
    history,
  };
}
