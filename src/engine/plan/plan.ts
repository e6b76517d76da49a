/** What may run next in a frame: told what settled and which edges that fired, a plan says what starts (E1). Pure: no clock, no I/O. */
import type { Graph } from '../../graph/graph.ts';
import type { FrameTree } from '../../state/tree.ts';
import type { Plan } from './plan-step.ts';
import { RoundsPlan } from './rounds-plan.ts';
import { TokenPlan } from './token-plan.ts';

/**
 * The plan of a frame, built from its tree and kept in step by {@link Plan.settle}; one that is built again from the tree is the same
 * plan at any moment. O(nodes + edges).
 */
export function createPlan(graph: Graph, frame: FrameTree): Plan {
  return graph.holdsOneToken ? new TokenPlan(graph, frame) : new RoundsPlan(graph, frame);
}
