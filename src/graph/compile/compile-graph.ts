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
  isFollowUp,
} from '../graph.ts';
import { CairnError } from '../../errors.ts';
import type { Amounts } from '../amounts.ts';
import type { RetryPolicy } from '../contracts/retry-policy.ts';
import { type LinkedNode, linkGraph } from '../shape/link-graph.ts';
import { usesText } from '../validate/validate-nodes.ts';
import { validateGraph } from '../validate/validate-graph.ts';
import { migrationFaults } from './migrations.ts';
import { withRecordedNames } from './recorded-names.ts';

// Describes a graph as plain data and computes its hashes (G1).

type Described = Omit<Graph, 'hash' | 'codeHash' | 'nodeCode' | 'structure'>;
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
    label: edge.label === nodes[edge.to]?.inCode?.node ? nodes[edge.to]?.id : edge.label,
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
function reducerText(reducer: Reducer): string {
  if (typeof reducer === 'string') return reducer;
  return `custom ${reducer.name}${reducer.version === undefined ? '' : ` ${reducer.version}`}`;
}

/**
 * Describes a schema for the hash: its vendor and, if the library can tell, its JSON Schema or the names of its fields. Otherwise the
 * vendor alone.
 */
function schemaData(schema: StandardSchema): Data {
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
function hashNode(node: Pick<GraphNode, 'type' | 'version' | 'config' | 'subgraph'>): string {
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
  const { limit: _, title: _title, ...policies } = graph.policies;
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
    policies,
  });
}

const conditionCode = (condition: Condition | undefined): string =>
  condition === undefined ? '' : sourceOf(condition.evaluate);

/** The source of what a node does. The version of the graph stands for what it does not say: what its functions take from elsewhere. */
function nodeCodeTexts(
  { implementation, when, retry, subgraph, uses, version }: GraphNode,
  ofGraph?: string,
): readonly string[] {
  return [
    implementation.codeText ?? String(implementation.run),
    implementation.reconcile === undefined ? '' : String(implementation.reconcile),
    conditionCode(when),
    ...(retry?.when === undefined ? [] : [String(retry.when)]),
    subgraph?.codeHash ?? '',
    ...(uses === undefined ? [] : [usesText(uses)]),
    ...(ofGraph !== undefined && uses === undefined && version === undeclaredVersion ? [`version ${ofGraph}`] : []),
  ];
}

/** The version of a node whose author says none. */
const undeclaredVersion = '1';

/** Characters of a hash that tell a node's code from its other versions. */
const nodeCodeChars = 16;

function nodeCodeOf({ nodes, version }: Described): Readonly<Record<string, string>> {
  const authored = nodes.filter(({ index }) => index > 1);
  return Object.freeze(
    Object.fromEntries(
      authored.map((node) => [
        node.id,
        hashText(canonicalText(nodeCodeTexts(node, version)), 'base64url').slice(0, nodeCodeChars),
      ]),
    ),
  );
}

/** Ids of the nodes whose code is told by the source of their function alone: neither they nor their graph say what else it is made of. */
export function undeclaredFunctions({ nodes, version }: Graph): ReadonlySet<string> {
  const isUndeclared = (node: GraphNode): boolean =>
    node.type === 'function' && node.uses === undefined && node.version === undeclaredVersion;
  return new Set(version === undefined ? nodes.filter(isUndeclared).map(({ id }) => id) : []);
}

/** The source of all functions, in the order of the structure. */
function codeText(graph: Described): string {
  const nodes = graph.nodes.map((node) => [
    node.id,
    ...nodeCodeTexts(node),
    ...node.outgoing.map((edge) => conditionCode(edge.condition) + (edge.choice ? sourceOf(edge.choice.choose) : '')),
  ]);
  const reducers = Object.entries(graph.reducers).map(([path, reducer]) => [
    path,
    typeof reducer === 'string' ? '' : String(reducer.reduce),
  ]);
  const byName = (a: readonly string[], b: readonly string[]): number => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1);
  const { version } = graph;
  return canonicalText([nodes.sort(byName), reducers.sort(byName), ...(version === undefined ? [] : [version])]);
}

/** Adds to a graph its description as data and its two hashes. */
function describeGraph(graph: Described): Graph {
  const structure = describeStructure(graph);
  const codeHash = hashText(codeText(graph));
  return Object.freeze({ ...graph, structure, hash: hashValue(structure), codeHash, nodeCode: nodeCodeOf(graph) });
}

const defaultPolicies: GraphPolicies = Object.freeze({
  routing: 'all',
  checkpoint: 'every_node',
  concurrency: 64,
  maxVisits: 1000,
  durability: 'barrier',
});

/** How long the node that runs after a cancel or a failure may take, if it does not say so itself. */
const followUpTimeoutMs = 600_000;

const idle = { run: (): undefined => undefined, codeText: '' };

/** Definitions of START, which settles like any node but does nothing, and of END, which is reached as soon as one edge to it fires. */
const start: NodeDefinition = { id: START, type: 'start', effect: 'pure', implementation: idle };
const end: NodeDefinition = { id: END, type: 'end', effect: 'pure', implementation: idle };

function completeNode(linked: LinkedNode, index: number, policies: GraphPolicies): GraphNode {
  const definition = linked.definition ?? (index === 0 ? start : end);
  const followsEnd = isFollowUp(policies, linked.id);
  const frozen = <T>(value: T): T => freezeCopy(value) as T;
  const frozenRetry = (retry: RetryPolicy | undefined): RetryPolicy | undefined => {
    if (retry?.when === undefined) return frozen(retry);
    const { when, ...data } = retry;
    return Object.freeze({ ...frozen(data), when });
  };
  const parts = {
    type: definition.type,
    version: definition.version ?? undeclaredVersion,
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
    timeoutMs: definition.timeoutMs ?? (followsEnd ? followUpTimeoutMs : undefined),
    onFailure: definition.onFailure ?? 'fail-run',
    checkpoint: definition.checkpoint,
    idempotent: definition.idempotent ?? false,
    onInDoubt: definition.onInDoubt ?? 'ask',
    budget: frozen(definition.budget),
    onBudget: definition.onBudget ?? 'ask',
    atMost: frozen(definition.atMost),
    memoryConsistency: definition.memoryConsistency ?? policies.memoryConsistency,
    limit: definition.limit,
    maxVisits: definition.maxVisits ?? policies.maxVisits,
    maxVisitsName: definition.maxVisitsName ?? 'maxVisits',
    outputAs: definition.outputAs,
    uses: definition.uses,
    inCode: definition.inCode,
    implementation: definition.implementation,
    definitionHash: hashNode(parts),
    loops: linked.loops,
    outgoing: Object.freeze(linked.outgoing),
    incoming: Object.freeze(linked.incoming),
  });
}

/** Lists to which nodes append are merged by appending. */
function withAppends(definition: GraphDefinition): GraphDefinition {
  const lists = definition.nodes.flatMap(({ appends = [] }) => appends);
  if (lists.length === 0) return definition;
  return {
    ...definition,
    reducers: { ...Object.fromEntries(lists.map((list) => [list, 'append' as const])), ...definition.reducers },
  };
}

/**
 * Compiles a definition into a graph. Warnings are in `graph.warnings`.
 * @throws GRAPH_INVALID with `{ graphId, violations }`: all violations at once, warnings included, each with rule, severity, place and fix
 * (G7)
 */
export function compileGraph(written: GraphDefinition): Graph {
  const { definition, violations: ofNames } = withRecordedNames(withAppends(written));
  const linked = linkGraph(definition);
  const { migrations = [], webhooks } = definition;
  const violations = [...ofNames, ...migrationFaults(migrations), ...validateGraph(definition, linked)];
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
    migrations: Object.freeze([...migrations]),
    ...(definition.version !== undefined && { version: definition.version }),
    ...(definition.result && { result: definition.result }),
    ...(webhooks !== undefined && webhooks.length > 0 && { webhooks: freezeCopy(webhooks) as typeof webhooks }),
  });
}
