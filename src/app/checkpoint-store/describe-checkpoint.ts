/** A checkpoint of a run, as a checkpoint store keeps it. */
import { START, END, type Graph } from '../../graph/graph.ts';
import { checkpointId, decodeCheckpoint } from '../../history/stored/checkpoint.ts';
import { viewState } from '../../history/read/state-view.ts';
import type { Checkpoint, NodeResult } from '../../ports/checkpoint-store.ts';
import type { CheckpointRow, RunRow } from '../../ports/store.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { RunTree } from '../../state/tree.ts';

/** A value as plain JSON, as everything in a checkpoint store is. */
export function plain(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(encodeValue(value)) as unknown);
}

interface Described {
  readonly run: RunRow;
  readonly row: CheckpointRow;
  readonly root: RunTree;
  readonly graph: Graph | undefined;
  /** The one saved before: it knows how long the nodes took that had completed by then. */
  readonly before: Checkpoint | undefined;
  readonly history: string;
}

/** Edges that are parallel are told apart by a number behind the target's id. */
const targetsOf = (fired: readonly string[]): readonly string[] => fired.map((key) => key.replace(/#\d+$/u, ''));

/** The whole of a run at one of its checkpoints. */
export function describeCheckpoint({ run, row, root, graph, before, history }: Described): Checkpoint {
  const { input, scratch, artifacts, diagnostics, outputs } = viewState(root).state;
  const { change } = decodeCheckpoint({ runKey: run.key, seq: row.seq }, undefined, row);
  const durations = new Map(
    change.flatMap(({ kind, node, durationMs }) =>
      kind === 'settle' && node?.length === 1 ? [[node[0] ?? '', durationMs ?? 0] as const] : [],
    ),
  );
  const nodes = Object.entries(root.frame.nodes).filter(([id]) => id !== START && id !== END);
  const completed = nodes.filter(([, { status }]) => status === 'completed').map(([id]) => id);
  const resultOf = (id: string): NodeResult => ({
    effectClass: graph?.nodes[graph.nodeIndex.get(id) ?? -1]?.effect ?? 'pure',
    output: plain(outputs[id]),
    durationMs: durations.get(id) ?? before?.nodeResults[id]?.durationMs ?? 0,
  });
  const settled = new Set(nodes.filter(([, { fired }]) => fired !== undefined).map(([id]) => id));
  return {
    id: checkpointId(run.key, row.seq),
    graphId: run.graphId,
    runId: run.runId,
    nodeId: change.findLast(({ node }) => node !== undefined)?.node?.[0] ?? START,
    timestamp: row.at,
    state: {
      input: plain(input),
      scratch: plain(scratch),
      artifacts: plain(artifacts),
      diagnostics: plain(diagnostics),
    },
    nodeResults: Object.fromEntries(completed.map((id) => [id, resultOf(id)])),
    visitedNodes: completed,
    skippedNodes: nodes.filter(([, { status }]) => status === 'skipped').map(([id]) => id),
    pendingEdges: Object.entries(root.frame.nodes).flatMap(([from, { fired = [] }]) =>
      targetsOf(fired)
        .filter((to) => to !== END && !settled.has(to))
        .map((to) => `${from}->${to}`),
    ),
    history,
  };
}
