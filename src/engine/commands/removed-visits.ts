/**
 * Visits to nodes which the changed graph does not have any more (H3). What a run waits for at one is closed as changed. Where one stands
 * between what the run has done and what is still to come, it goes on from before it as the new graph routes it.
 */
import { routedAgain, type LivePositions } from '../../graph/compile/compare-graphs.ts';
import type { Graph, GraphEdge, GraphNode, GraphStructure } from '../../graph/graph.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import { type FrameRun, rootFrameRun } from '../live-run/loop.ts';
import { routeEdges } from '../plan/route.ts';

/** A wait that was closed since its node is gone. */
export interface ClosedWait {
  readonly waitId: string;
  readonly node: readonly string[];
  readonly step?: string;
}

/** Call when the state's graph is the new one. The comparison has made sure that the visits do nothing but wait. */
export function dropRemovedVisits(
  state: TreeWriter,
  stored: GraphStructure,
  graph: Graph,
  positions: LivePositions['nodes'],
): readonly ClosedWait[] {
  const { frame, waits } = state.root;
  const ways = routedAgain(stored, graph.structure, positions);
  const removed = Object.entries(frame.nodes)
    .filter(([id, { fired }]) => fired === undefined && !graph.nodeIndex.has(id))
    .map(([id]) => id);
  const closed = Object.entries(waits).flatMap(([waitId, { node, step }]): readonly ClosedWait[] =>
    removed.includes(node[0] ?? '') ? [{ waitId, node, ...(step !== undefined && { step }) }] : [],
  );
  for (const { waitId } of closed) state.delete(['waits', waitId]);
  for (const id of removed) state.delete(['frame', 'nodes', id]);
  if (ways.size > 0) {
    const frameRun = rootFrameRun(graph, { frame });
    for (const node of graph.nodes) routeAgain(state, frameRun, node, ways.get(node.id));
  }
  return closed;
}

/** Decides anew where a node leads that had led to one that is gone. @param gone - keys of the edges to it */
function routeAgain(
  state: TreeWriter,
  frameRun: FrameRun,
  node: GraphNode,
  gone: ReadonlySet<string> | undefined,
): void {
  const record = frameRun.recordOf(node);
  if (record?.fired === undefined || gone === undefined || !record.fired.some((key) => gone.has(key))) return;
  const remaining = record.fired.filter((key) => !gone.has(key));
  const begins = (edge: GraphEdge): boolean =>
    remaining.includes(edge.key) || frameRun.recordOf(frameRun.graph.nodes[edge.to] as GraphNode) === undefined;
  const fired = decided(frameRun, node).filter(begins);
  const at = ['frame', 'nodes', node.id];
  const fields = frameRun.plan.settledFields(node.index, fired);
  state.set([...at, 'fired'], fields.fired);
  if (fields.held === undefined) state.delete([...at, 'held']);
  else state.set([...at, 'held'], fields.held);
  state.delete([...at, 'goto']);
}

function decided(frameRun: FrameRun, node: GraphNode): readonly GraphEdge[] {
  const record = frameRun.recordOf(node);
  const status = record?.status === 'failed' ? 'failed' : 'completed';
  const view = frameRun.frame.openView();
  const error = record?.error instanceof Error ? record.error : undefined;
  const { fired } = routeEdges({
    graph: frameRun.graph,
    node,
    goto: undefined,
    status,
    scope: () => ({ outcome: { status, output: record?.output, error }, state: view.state }),
  });
  view.close();
  return fired;
}
