/** Compiles an author's definition to an immutable graph: validated, linked, with defaults filled in, and hashed (G1, G2, G7). */
import { CairnError } from '../../errors.ts';
import type { Amounts } from '../amounts.ts';
import { freezeCopy } from '../canonical.ts';
import { describeGraph, hashNode } from './describe-graph.ts';
import {
  type Graph,
  type GraphDefinition,
  type GraphNode,
  type GraphPolicies,
  type NodeDefinition,
  END,
  START,
} from '../graph.ts';
import type { RetryPolicy } from '../contracts/retry-policy.ts';
import { type LinkedNode, linkGraph } from '../shape/link-graph.ts';
import { validateGraph } from '../validate/validate-graph.ts';

export const defaultPolicies: GraphPolicies = Object.freeze({
  routing: 'all',
  checkpoint: 'every_node',
  concurrency: 64,
  maxVisits: 1000,
  durability: 'barrier',
});

const idle = { run: (): undefined => undefined, codeText: '' };

/** Definitions of START, which settles like any node but does nothing, and of END, which is reached as soon as one edge to it fires. */
const start: NodeDefinition = { id: START, type: 'start', effect: 'pure', implementation: idle };
const end: NodeDefinition = { id: END, type: 'end', effect: 'pure', implementation: idle };

function completeNode(linked: LinkedNode, index: number, policies: GraphPolicies): GraphNode {
  const definition = linked.definition ?? (index === 0 ? start : end);
  const frozen = <T>(value: T): T => freezeCopy(value) as T;
  const frozenRetry = (retry: RetryPolicy | undefined): RetryPolicy | undefined => {
    if (retry?.when === undefined) return frozen(retry);
    const { when, ...data } = retry;
    return Object.freeze({ ...frozen(data), when });
  };
  const parts = {
    type: definition.type,
    version: definition.version ?? '1',
    config: frozen(definition.config),
    subgraph: definition.subgraph,
  };
  return Object.freeze({
    index,
    id: linked.id,
    ...parts,
    effect: definition.effect,
    reads: frozen(definition.reads),
    when: definition.when,
    join: frozen(definition.join ?? 'some'),
    retry: frozenRetry(definition.retry),
    timeoutMs: definition.timeoutMs,
    onFailure: definition.onFailure ?? 'fail-run',
    checkpoint: definition.checkpoint,
    idempotent: definition.idempotent ?? false,
    onInDoubt: definition.onInDoubt ?? 'ask',
    budget: frozen(definition.budget),
    onBudget: definition.onBudget ?? 'ask',
    atMost: frozen(definition.atMost),
    memoryConsistency: definition.memoryConsistency ?? policies.memoryConsistency,
    maxVisits: definition.maxVisits ?? policies.maxVisits,
    maxVisitsName: definition.maxVisitsName ?? 'maxVisits',
    outputAs: definition.outputAs,
    implementation: definition.implementation,
    definitionHash: hashNode(parts),
    loops: linked.loops,
    outgoing: Object.freeze(linked.outgoing),
    incoming: Object.freeze(linked.incoming),
  });
}

/**
 * Compiles a definition into a graph. Warnings are in `graph.warnings`.
 * @throws GRAPH_INVALID with `{ graphId, violations }`: all violations at once, warnings included, each with rule, severity, place and fix
 * (G7)
 */
export function compileGraph(definition: GraphDefinition): Graph {
  const linked = linkGraph(definition);
  const violations = validateGraph(definition, linked);
  if (violations.some((violation) => violation.severity === 'error')) {
    throw new CairnError('GRAPH_INVALID', { graphId: definition.id, violations });
  }
  const { budget } = definition.policies ?? {};
  const policies: GraphPolicies = Object.freeze({
    ...defaultPolicies,
    ...definition.policies,
    ...(budget !== undefined && { budget: freezeCopy(budget) as Amounts }),
  });
  return describeGraph({
    id: definition.id,
    nodes: Object.freeze(linked.nodes.map((node, index) => completeNode(node, index, policies))),
    edges: Object.freeze(linked.edges),
    nodeIndex: linked.nodeIndex,
    loops: Object.freeze(linked.loops),
    holdsOneToken: linked.holdsOneToken,
    reducers: Object.freeze({ ...definition.reducers }),
    schemas: Object.freeze({ ...definition.schemas }),
    policies,
    warnings: violations,
    text: definition.text,
  });
}
