/** The data of a graph and its hashes (G1). */
import { canonicalText, freezeCopy, hashText, hashValue } from '../canonical.ts';
import { sourceOf } from '../condition.ts';
import type { Condition, Graph, GraphEdge, GraphNode, GraphStructure, Reducer, StandardSchema } from '../graph.ts';

type Described = Omit<Graph, 'hash' | 'codeHash' | 'structure'>;
type Data = Readonly<Record<string, unknown>>;

/** The data of a function: what it is called and the version its author gave it. */
const named = (code: { readonly text: string; readonly version?: string } | undefined): Data | undefined =>
  code === undefined
    ? undefined
    : { text: code.text, ...(code.version === undefined ? {} : { version: code.version }) };

/** Leaves out what is undefined, so that the data is the same after it was stored. */
function defined(data: Data): Data {
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(data)) if (data[key] !== undefined) kept[key] = data[key];
  return kept;
}

// Keys are in order, which spares the canonical text their sorting.
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

const edgeData = (edge: GraphEdge, nodes: readonly GraphNode[]): Data =>
  defined({
    always: edge.always,
    choice: named(edge.choice),
    condition: named(edge.condition),
    from: nodes[edge.from]?.id,
    key: edge.key,
    label: edge.label,
    on: edge.on,
    to: nodes[edge.to]?.id,
    weight: edge.weight,
  });

/** A reducer as it is hashed: its name, and the version of a custom one. */
export function reducerText(reducer: Reducer): string {
  if (typeof reducer === 'string') return reducer;
  return `custom ${reducer.name}${reducer.version === undefined ? '' : ` ${reducer.version}`}`;
}

/**
 * A schema as it is hashed: its vendor and, where the library can tell, its JSON Schema or the names of its fields.
 * A library that tells neither is hashed by vendor alone.
 */
export function schemaData(schema: StandardSchema): Data {
  const { vendor } = schema['~standard'];
  const open = schema as { readonly toJSONSchema?: unknown; readonly shape?: unknown };
  if (typeof open.toJSONSchema === 'function') {
    try {
      return { vendor, json: freezeCopy(open.toJSONSchema({ io: 'input', unrepresentable: 'any' })) };
    } catch {
      // What JSON Schema cannot say is described by its fields.
    }
  }
  const fields = typeof open.shape === 'object' && open.shape !== null ? Object.keys(open.shape).sort() : undefined;
  return defined({ vendor, fields });
}

/** What a node's input hash covers of its definition: type, version, config and child graph. */
export function hashNode(node: Pick<GraphNode, 'type' | 'version' | 'config' | 'subgraph'>): string {
  const { type, version, config, subgraph } = node;
  // It stands in every checkpoint of a node that read nothing, where each byte is written once a node.
  return hashText(canonicalText({ type, version, config, subgraph: subgraph?.hash }), 'base64url');
}

const byId = (a: Data, b: Data): number => (String(a['id']) < String(b['id']) ? -1 : 1);
const bySource = (a: Data, b: Data): number => {
  if (a['from'] === b['from']) return 0;
  return String(a['from']) < String(b['from']) ? -1 : 1;
};

function describeStructure(graph: Described): GraphStructure {
  const authored = graph.nodes.filter((node) => node.index > 1);
  // Sorted, so that the order of declaration counts only where it has a meaning: among the edges of one node.
  return Object.freeze({
    id: graph.id,
    nodes: authored.map(nodeData).sort(byId),
    edges: graph.nodes.flatMap((node) => node.outgoing.map((edge) => edgeData(edge, graph.nodes))).sort(bySource),
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

/** The text of every function, in the order of the structure. */
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

/** Adds to a graph what is computed from all of it: its data and the two hashes. */
export function describeGraph(graph: Described): Graph {
  const structure = describeStructure(graph);
  return Object.freeze({ ...graph, structure, hash: hashValue(structure), codeHash: hashText(codeText(graph)) });
}
