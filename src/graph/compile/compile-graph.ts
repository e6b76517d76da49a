/** Compiles an author's definition to an immutable graph: validated, linked, with defaults filled in, and hashed (G1, G2, G7). */
import { canonicalText, freezeCopy, hashText, hashValue } from '../canonical.ts';
import { sourceOf } from '../condition.ts';
import {
  type Choice,
  type Condition,
  type Graph,
  type GraphEdge,
  type GraphNode,
  type GraphStructure,
  type Reducer,
  type StandardSchema,
  type GraphDefinition,
  type GraphPolicies,
  type NodeDefinition,
  END,
  START,
} from '../graph.ts';
import { CairnError } from '../../errors.ts';
import type { Amounts } from '../amounts.ts';
import type { RetryPolicy } from '../contracts/contracts.ts';
import { type LinkedNode, linkGraph } from '../shape/link-graph.ts';
import { validateGraph } from '../validate/validate-graph.ts';

// Describes a graph as plain data and computes its hashes (G1).

type Described = Omit<Graph, 'hash' | 'codeHash' | 'structure'>;
type Data = Readonly<Record<string, unknown>>;

/** Describes a function: its name, and the version that its author gave it. */
const named = (code: { readonly text: string; readonly version?: string } | undefined): Data | undefined =>
  code === undefined
    ? undefined
    : { text: code.text, ...(code.version === undefined ? {} : { version: code.version }) };

/** Removes undefined properties, which storing would drop anyway, so that data compares equal before and after it is stored. */
function defined(data: Data): Data {
  const present: Record<string, unknown> = {};
  for (const key of Object.keys(data)) if (data[key] !== undefined) present[key] = data[key];
  return present;
}

// Keys are written in sorted order, which saves `canonicalText` from sorting them.
const nodeData = (node: GraphNode): Data =>
  defined({
    atMost: node.atMost === 'nothing' ? undefined : node.atMost,
    budget: node.budget,
    checkpoint: node.checkpoint,
    config: node.config,
    effect: node.effect,
    id: node.id,
    idempotent: node.idempotent,
    join: node.join,
    maxVisits: node.maxVisits,
    memoryConsistency: node.memoryConsistency,
    onBudget: node.onBudget === 'ask' ? undefined : node.onBudget,
    onFailure: node.onFailure,
    onInDoubt: node.onInDoubt === 'ask' ? undefined : node.onInDoubt,
    outputAs: node.outputAs,
    reads: node.reads,
    retry: node.retry?.when === undefined ? node.retry : { ...node.retry, when: '(computed)' },
    subgraph: node.subgraph?.structure,
    timeoutMs: node.timeoutMs,
    type: node.type,
    version: node.version,
    when: named(node.when),
  });

const edgeData = (edge: GraphEdge, nodes: readonly GraphNode[], choice: Data | undefined): Data =>
  defined({
    always: edge.always,
    choice,
    condition: named(edge.condition),
    from: nodes[edge.from]?.id,
    key: edge.key,
    label: edge.label,
    on: edge.on,
    to: nodes[edge.to]?.id,
    weight: edge.weight,
  });

/**
 * Describes the edges that leave a node. A choice that several edges share is written at the first of them only: its text may tell of all
 * of them, so writing it at each would take room that grows with the square of their number. `outgoingEdges` reads this.
 */
function outgoingData({ outgoing }: GraphNode, nodes: readonly GraphNode[]): readonly Data[] {
  const firsts = new Map<Choice, string>();
  return outgoing.map((edge) => {
    const { choice, key } = edge;
    const first = choice === undefined ? undefined : firsts.get(choice);
    if (choice !== undefined && first === undefined) firsts.set(choice, key);
    return edgeData(edge, nodes, first === undefined ? named(choice) : { sharedWith: first });
  });
}

/** Describes a reducer for the hash: its name, and the version of a custom one. */
export function reducerText(reducer: Reducer): string {
  if (typeof reducer === 'string') return reducer;
  return `custom ${reducer.name}${reducer.version === undefined ? '' : ` ${reducer.version}`}`;
}

/**
 * Describes a schema for the hash: its vendor and, if the library can tell, its JSON Schema or the names of its fields. Otherwise the
 * vendor alone.
 */
export function schemaData(schema: StandardSchema): Data {
  const { vendor } = schema['~standard'];
  const open = schema as { readonly toJSONSchema?: unknown; readonly shape?: unknown };
  if (typeof open.toJSONSchema === 'function') {
    try {
      return { vendor, json: freezeCopy(open.toJSONSchema({ io: 'input', unrepresentable: 'any' })) };
    } catch {
      // JSON Schema cannot express this one; its field names are used instead.
    }
  }
  const fields = typeof open.shape === 'object' && open.shape !== null ? Object.keys(open.shape).sort() : undefined;
  return defined({ vendor, fields });
}

/** Hashes what an activation's input hash covers of the node's definition: type, version, config and child graph. */
export function hashNode(node: Pick<GraphNode, 'type' | 'version' | 'config' | 'subgraph'>): string {
  const { type, version, config, subgraph } = node;
  // Base64url is shorter, which counts: the hash is written in every checkpoint of a node that read nothing.
  return hashText(canonicalText({ type, version, config, subgraph: subgraph?.hash }), 'base64url');
}

const byId = (a: Data, b: Data): number => (String(a['id']) < String(b['id']) ? -1 : 1);
const bySource = (a: Data, b: Data): number => {
  if (a['from'] === b['from']) return 0;
  return String(a['from']) < String(b['from']) ? -1 : 1;
};

function describeStructure(graph: Described): GraphStructure {
  const authored = graph.nodes.filter((node) => node.index > 1);
  // Sorted, because the order of declaration means something only among the edges of one node.
  return Object.freeze({
    id: graph.id,
    nodes: authored.map(nodeData).sort(byId),
    edges: graph.nodes.flatMap((node) => outgoingData(node, graph.nodes)).sort(bySource),
    reducers: Object.fromEntries(
      Object.entries(graph.reducers)
        .map(([path, reducer]) => [path, reducerText(reducer)] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
    schemas: Object.fromEntries(
      (['input', 'scratch', 'artifacts'] as const).flatMap((part) => {
        const schema = graph.schemas[part];
        return schema === undefined ? [] : [[part, schemaData(schema)] as const];
      }),
    ),
    policies: graph.policies,
  });
}

const conditionCode = (condition: Condition | undefined): string =>
  condition === undefined ? '' : sourceOf(condition.evaluate);

/** The source of all functions, in the order of the structure. */
function codeText(graph: Described): string {
  const nodes = graph.nodes.map((node) => [
    node.id,
    node.implementation.codeText ?? String(node.implementation.run),
    node.implementation.reconcile === undefined ? '' : String(node.implementation.reconcile),
    conditionCode(node.when),
    ...(node.retry?.when === undefined ? [] : [String(node.retry.when)]),
    node.subgraph?.codeHash ?? '',
    ...node.outgoing.map((edge) => conditionCode(edge.condition) + (edge.choice ? sourceOf(edge.choice.choose) : '')),
  ]);
  const reducers = Object.entries(graph.reducers).map(([path, reducer]) => [
    path,
    typeof reducer === 'string' ? '' : String(reducer.reduce),
  ]);
  const byName = (a: readonly string[], b: readonly string[]): number => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1);
  return canonicalText([nodes.sort(byName), reducers.sort(byName)]);
}

/** Adds to a graph its description as data and its two hashes. */
export function describeGraph(graph: Described): Graph {
  const structure = describeStructure(graph);
  return Object.freeze({ ...graph, structure, hash: hashValue(structure), codeHash: hashText(codeText(graph)) });
}

export const defaultPolicies: GraphPolicies = Object.freeze({
  routing: 'all',
  checkpoint: 'every_node',
  concurrency: 64,
  maxVisits: 1000,
  durability: 'barrier',
});

/** How long the node that runs after a cancel may take, if it does not say so itself. */
const onCancelTimeoutMs = 600_000;

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
    ...(definition.isDeclared === false && { isDeclared: false as const }),
    reads: frozen(definition.reads),
    when: definition.when,
    join: frozen(definition.join ?? 'some'),
    retry: frozenRetry(definition.retry),
    timeoutMs: definition.timeoutMs ?? (linked.id === policies.onCancel ? onCancelTimeoutMs : undefined),
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
    ...(definition.result && { result: definition.result }),
  });
}
