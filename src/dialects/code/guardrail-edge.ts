/** Completes the edge from a guardrail node to the node that it reroutes to. */
import type { Condition, EdgeDefinition, NodeDefinition } from '../../graph/graph.ts';

const violated: Condition = {
  text: 'outcome.output.passed == false',
  evaluate: ({ outcome }) => (outcome.output as { readonly passed?: unknown } | undefined)?.passed === false,
};

/** Adds the condition to a guardrail's reroute edge that was written without one: the edge fires only if the check found a violation. */
export function completeGuardrailEdge(edge: EdgeDefinition, source: NodeDefinition | undefined): EdgeDefinition {
  const { rerouteTarget } = (source?.config ?? {}) as { readonly rerouteTarget?: unknown };
  const isBare = edge.condition === undefined && edge.choice === undefined && edge.always !== true;
  return source?.type === 'guardrail' && rerouteTarget === edge.to && isBare ? { ...edge, condition: violated } : edge;
}
