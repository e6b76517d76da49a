/** The edge from a guardrail to the node it reroutes to. */
import type { Condition, EdgeDefinition, NodeDefinition } from '../../graph/graph.ts';

const violated: Condition = {
  text: 'outcome.output.passed == false',
  evaluate: ({ outcome }) => (outcome.output as { readonly passed?: unknown } | undefined)?.passed === false,
};

/** Gives a reroute edge without a condition the one that is meant: it fires when the check found a violation, and only then. */
export function completeGuardrailEdge(edge: EdgeDefinition, source: NodeDefinition | undefined): EdgeDefinition {
  const { rerouteTarget } = (source?.config ?? {}) as { readonly rerouteTarget?: unknown };
  const isBare = edge.condition === undefined && edge.choice === undefined && edge.always !== true;
  return source?.type === 'guardrail' && rerouteTarget === edge.to && isBare ? { ...edge, condition: violated } : edge;
}
