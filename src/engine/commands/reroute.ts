/** Repeats routing decisions affected by a fork's patch, if none of their targets has started (H2). */
import type { Graph, GraphEdge, GraphNode } from '../../graph/graph.ts';
import { overlaps } from '../../state/channels/view.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import { type FrameRun, rootFrameRun } from '../live-run/loop.ts';
import { routeEdges } from '../plan/route.ts';

/** Decides again with the patched state, before any plan is made from it, and writes the new decisions to the next checkpoint. */
export function takeRoutesAgain(state: TreeWriter, graph: Graph): void {
  const { patched, frame } = state.root;
  if (patched === undefined) return;
  state.delete(['patched']);
  const frameRun = rootFrameRun(graph, { frame });
  const rerouted = graph.nodes.flatMap((node) => {
    const fired = isOpenToChange(frameRun, node) ? decideAgain(frameRun, node, patched) : undefined;
    return fired === undefined ? [] : [[node.id, frameRun.plan.settledFields(node.index, fired)] as const];
  });
  for (const [nodeId, { fired, held }] of rerouted) {
    const path = ['frame', 'nodes', nodeId];
    state.set([...path, 'fired'], fired);
    if (held === undefined) state.delete([...path, 'held']);
    else state.set([...path, 'held'], held);
  }
  // A failed node is retried with the patched state (E9).
  for (const [nodeId, { status, fired }] of Object.entries(frame.nodes))
    if (status === 'failed' && fired === undefined) state.delete(['frame', 'nodes', nodeId, 'view']);
}

function isOpenToChange(frameRun: FrameRun, node: GraphNode): boolean {
  const record = frameRun.recordOf(node);
  if (record?.fired === undefined || record.goto !== undefined || record.status === 'skipped') return false;
  if (!node.outgoing.some((edge) => edge.condition !== undefined || edge.choice !== undefined)) return false;
  const hasBegun = (index: number): boolean =>
    frameRun.openRecordOf(frameRun.graph.nodes[index] as GraphNode) !== undefined;
  return frameRun.plan.isUndecided(node.index, hasBegun);
}

/** The new decision. Undefined if the decision read nothing that was patched, or stays the same. */
function decideAgain(
  frameRun: FrameRun,
  node: GraphNode,
  patched: readonly string[],
): readonly GraphEdge[] | undefined {
  const record = frameRun.recordOf(node);
  const status = record?.status === 'failed' ? 'failed' : 'completed';
  const view = frameRun.frame.openView();
  const outcome = {
    status,
    output: record?.output,
    error: record?.error instanceof Error ? record.error : undefined,
  } as const;
  const { fired } = routeEdges({
    graph: frameRun.graph,
    node,
    goto: undefined,
    status,
    scope: () => ({ outcome, state: view.state }),
  });
  const reads = view.reads();
  view.close();
  if (!patched.some((channel) => reads.some((read) => overlaps(channel, read)))) return undefined;
  const keys = fired.map((edge) => edge.key);
  const before = record?.fired ?? [];
  return keys.length === before.length && keys.every((key) => before.includes(key)) ? undefined : fired;
}
