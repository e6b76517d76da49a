/**
 * Decides what may run next in a frame. A plan is told what settled and which edges that fired, and returns what starts (E1). Pure: no
 * clock, no I/O.
 */
import type { Graph } from '../../graph/graph.ts';
import type { FrameTree } from '../../state/tree.ts';
import type { Plan } from './plan-step.ts';
import { RoundsPlan } from './rounds-plan.ts';
import { TokenPlan } from './token-plan.ts';

/**
 * Makes the plan of a frame from its tree. {@link Plan.settle} keeps it up to date; a plan made again from the tree is the same at any
 * moment. O(nodes + edges).
 */
export function createPlan(graph: Graph, frame: FrameTree): Plan {
  return graph.holdsOneToken ? new TokenPlan(graph, frame) : new RoundsPlan(graph, frame);
}
