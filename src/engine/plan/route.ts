/** Decides which edges a settled activation fires (G3, G5, G6, G8). */
import { CairnError, readableThrown, reasonOf } from '../../errors.ts';
import type { Choice, ConditionScope, Graph, GraphEdge, GraphNode } from '../../graph/graph.ts';

/** The input of a routing decision. */
export interface RouteRequest {
  readonly graph: Graph;
  readonly node: GraphNode;
  readonly goto: readonly string[] | undefined;
  /** Called only if a condition or a choice has to be evaluated. */
  readonly scope: () => ConditionScope;
  readonly status: 'completed' | 'failed';
  /** Whether the visit failed because it was beyond the node's `maxVisits`. */
  readonly isOverBound?: boolean;
}

/** A routing decision. */
export interface Route {
  readonly fired: readonly GraphEdge[];
  /** Whether an edge other than an `always` edge fired. A failure that fires one is handled. */
  readonly isHandled: boolean;
}

/** Decides. @throws CONDITION_FAILED, ROUTE_UNKNOWN */
export function routeEdges(request: RouteRequest): Route {
  const { graph, node } = request;
  const { isOverBound = false } = request;
  if (request.goto === undefined && request.status === 'completed' && !isOverBound && isPlain(graph, node)) {
    return { fired: node.outgoing, isHandled: node.outgoing.length > 0 };
  }
  const always = node.outgoing.filter((edge) => edge.always);
  // A failure beyond `maxVisits` must not follow a back edge, or the limit would not end the loop (G4).
  const candidates = node.outgoing.filter((edge) => !edge.always && !(isOverBound && edge.leadsBack));
  const isFirst = graph.policies.routing === 'first';
  // `goto` applies only to a completed outcome; a failure has edges of its own (G8).
  const { goto } = request;
  const isNamed = goto !== undefined && request.status === 'completed';
  const chosen = isNamed ? namedEdges(request, candidates, goto, isFirst) : firingEdges(request, candidates, isFirst);
  return { fired: always.length === 0 ? chosen : [...always, ...chosen], isHandled: chosen.length > 0 };
}

const plainNodes = new WeakMap<GraphNode, boolean>();

/** Whether a completed visit always fires every edge. Most nodes have one edge and no choice. */
function isPlain(graph: Graph, node: GraphNode): boolean {
  let plain = plainNodes.get(node);
  if (plain === undefined) {
    const isBare = (edge: GraphEdge): boolean =>
      !edge.always && edge.on !== 'failed' && edge.condition === undefined && edge.choice === undefined;
    plain = node.outgoing.every(isBare) && (graph.policies.routing === 'all' || node.outgoing.length <= 1);
    plainNodes.set(node, plain);
  }
  return plain;
}

function namedEdges(
  { graph, node }: RouteRequest,
  candidates: readonly GraphEdge[],
  targets: readonly string[],
  isFirst: boolean,
): readonly GraphEdge[] {
  const inCode = (edge: GraphEdge): string => graph.nodes[edge.to]?.inCode?.node ?? edge.key;
  const isNamed = (target: string, edge: GraphEdge): boolean => edge.label === target || inCode(edge) === target;
  // An outcome that was recorded before its target was renamed names it by its recorded id.
  const isOf = (target: string, edge: GraphEdge): boolean =>
    isNamed(target, edge) || (edge.key === target && !node.outgoing.some((other) => isNamed(target, other)));
  for (const target of targets) if (!node.outgoing.some((edge) => isOf(target, edge))) throw unknownRoute(node, target);
  if (!isFirst) return candidates.filter((edge) => targets.some((target) => isOf(target, edge)));
  // The labels are in order of preference.
  return targets.flatMap((target) => candidates.find((edge) => isOf(target, edge)) ?? []).slice(0, 1);
}

function firingEdges(request: RouteRequest, candidates: readonly GraphEdge[], isFirst: boolean): readonly GraphEdge[] {
  const chosen = new Map<Choice, readonly string[]>();
  const fired: GraphEdge[] = [];
  for (const edge of candidates) {
    if (edge.on !== 'any' && edge.on !== request.status) continue;
    if (!holds(request, edge, chosen)) continue;
    fired.push(edge);
    if (isFirst) break;
  }
  return fired;
}

function holds(request: RouteRequest, edge: GraphEdge, chosen: Map<Choice, readonly string[]>): boolean {
  const { node } = request;
  try {
    if (edge.choice !== undefined) {
      let labels = chosen.get(edge.choice);
      if (labels === undefined) {
        const answer = edge.choice.choose(request.scope());
        labels = typeof answer === 'string' ? [answer] : answer;
        const known = node.outgoing.filter((other) => other.choice === edge.choice).map((other) => other.label);
        for (const label of labels) if (!known.includes(label)) throw unknownRoute(node, label);
        chosen.set(edge.choice, labels);
      }
      if (!labels.includes(edge.label)) return false;
    }
    return edge.condition === undefined || edge.condition.evaluate(request.scope());
  } catch (error) {
    if (CairnError.is(error, 'ROUTE_UNKNOWN')) throw error;
    throw new CairnError(
      'CONDITION_FAILED',
      { node: node.id, edge: edge.key, reason: whyOf(error) },
      { cause: readableThrown(error) },
    );
  }
}

/** Why a condition failed. What the condition itself says of its value is told without the frame that knows no node. */
function whyOf(error: unknown): string {
  return CairnError.is(error, 'CONDITION_FAILED') ? String(error.data['reason']) : reasonOf(error);
}

function unknownRoute(node: GraphNode, target: unknown): CairnError {
  return new CairnError('ROUTE_UNKNOWN', { node: node.id, target, targets: node.outgoing.map((edge) => edge.label) });
}
