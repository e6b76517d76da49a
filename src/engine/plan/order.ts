/** Finds out which visits led to which (E5). */
import type { Graph, GraphEdge } from '../../graph/graph.ts';

/** What the search needs to know about a plan. */
export interface PlanView {
  /** The edges that started the node's current visit: they fired, and its join used them. */
  readonly taken: (node: number) => readonly GraphEdge[];
  /** The number of the loop's current round. */
  readonly round: (loop: number) => number;
  /** Whether an edge that is not a back edge has fired in the current round of the loops around it. */
  readonly hasFired: (edge: GraphEdge) => boolean;
}

/**
 * Whether the current visit of `writer` led to the current visit of `node`, over edges that fired and were used. It searches backwards from
 * `node`, inside of the innermost loop that holds both, because nothing comes into a round from outside. A loop that does not hold both
 * counts as one node: everything that ran in it led to what its outgoing edges started.
 */
export function isAfter(graph: Graph, plan: PlanView, writer: number, node: number): boolean {
  const loopsOf = (index: number): readonly number[] => graph.nodes[index]?.loops ?? [];
  const levels = loopsOf(writer).filter((loop, depth) => loopsOf(node)[depth] === loop).length;
  const goal = loopsOf(writer)[levels];
  const common = levels === 0 ? undefined : loopsOf(writer)[levels - 1];
  const isGoal = (index: number): boolean =>
    index === writer || (goal !== undefined && loopsOf(index)[levels] === goal);
  const isBeyond = (index: number): boolean => common !== undefined && loopsOf(index)[levels - 1] !== common;

  /** What is left to examine: a node's current visit, or a whole loop (as -1 - its index). */
  const open = [node];
  const seen = new Set(open);
  const visit = (item: number): void => {
    if (!seen.has(item)) open.push(item);
    seen.add(item);
  };
  for (let cursor = 0; cursor < open.length; cursor += 1) {
    for (const edge of edgesThatLedTo(graph, plan, open[cursor] as number)) {
      if (isGoal(edge.from)) return true;
      if (!isBeyond(edge.from)) visit(edge.exitOf === undefined ? edge.from : -1 - edge.exitOf);
    }
  }
  return false;
}

function edgesThatLedTo(graph: Graph, plan: PlanView, item: number): readonly GraphEdge[] {
  const innermost = item < 0 ? undefined : graph.nodes[item]?.loops.at(-1);
  // Every round but the first was started by the round before it, and so by everything that led into the loop.
  const isLaterHead =
    innermost !== undefined && plan.round(innermost) > 1 && graph.loops[innermost]?.heads.includes(item);
  if (item >= 0 && isLaterHead !== true) return plan.taken(item);
  const loop = graph.loops[innermost ?? -1 - item];
  // Edges to a loop's heads that are not back edges come from outside of the loop.
  return loop?.heads.flatMap((head) => graph.nodes[head]?.incoming.filter(plan.hasFired) ?? []) ?? [];
}
