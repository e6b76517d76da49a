/**
 * Settles START when a frame is created: its edges are decided by the input and the state's defaults. In a frame that begins elsewhere,
 * START fires nothing.
 */
import type { GraphEdge, GraphNode } from '../../graph/graph.ts';
import type { NodeRecord } from '../../state/tree.ts';
import type { FrameRun } from '../live-run/loop.ts';
import { routeEdges } from '../plan/route.ts';

/** @throws CONDITION_FAILED, ROUTE_UNKNOWN a condition on an edge from START failed */
export function settleStart(frameRun: FrameRun): void {
  const { frame, graph, plan } = frameRun;
  const node = graph.nodes[0] as GraphNode;
  plan.initial();
  const fired = frame.tree.entry === undefined ? routeStart(frameRun, node) : [];
  const fields = plan.settledFields(node.index, fired);
  const record: NodeRecord = { status: 'completed', fired: fields.fired };
  frame.setNode(node.id, record, JSON.stringify(record));
  plan.settle(node.index, fired);
}

function routeStart({ frame, graph }: FrameRun, node: GraphNode): readonly GraphEdge[] {
  const view = frame.openView();
  const outcome = { status: 'completed', output: undefined, error: undefined } as const;
  const { fired } = routeEdges({
    graph,
    node,
    goto: undefined,
    status: 'completed',
    scope: () => ({ outcome, state: view.state }),
  });
  view.close();
  return fired;
}
