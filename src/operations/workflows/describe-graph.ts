/** Describes a graph of a module in the form in which workflows are described, as far as code says it in advance. */
import { CairnError } from '../../errors.ts';
import { actInside } from '../../graph/effect-strength.ts';
import { isFollowUp, type Graph, type GraphEdge, type GraphNode } from '../../graph/graph.ts';
import { wavesOf } from '../../graph/shape/loops.ts';
import type { WorkflowInput } from '../../dialects/text-workflow.ts';
import { jsonSchemaOf } from '../../schema/standard-schema.ts';
import { mayAsk } from '../runs/reserved-answers.ts';
import type { WorkflowDescription } from '../contract/workflows.ts';

/** Node 0 is the start, and node 1 the end. */
const isAuthored = ({ index }: Pick<GraphNode, 'index'>): boolean => index > 1;

export function describeGraph(graph: Graph, source: string): WorkflowDescription {
  const nodes = graph.nodes.filter(isAuthored);
  const ids = new Set(nodes.map(({ id }) => id));
  const waves = wavesOf(graph.structure, ({ id }) => ids.has(String(id)) && !isFollowUp(graph.policies, id));
  return {
    name: graph.id,
    description: undefined,
    version: '',
    tags: [],
    inputs: inputsOf(graph),
    outputs: [],
    blocks: nodes.map((node) => describeNode(graph, node, Math.max(0, waves.findIndex((each) => each.includes(node.id))))), // prettier-ignore
    waves,
    secrets: [],
    warnings: graph.warnings,
    source,
  };
}

/** What a node follows that no edge leads to. */
function followsOf({ policies }: Graph, { id }: GraphNode): string | undefined {
  if (id === policies.onCancel) return 'after a cancel';
  return id === policies.onRunFailure ? 'after the run has failed' : undefined;
}

function describeNode(graph: Graph, node: GraphNode, wave: number): WorkflowDescription['blocks'][number] {
  const before = node.incoming.filter(({ from, leadsBack }) => from > 1 && !leadsBack);
  const nameOf = ({ from }: GraphEdge): string => graph.nodes[from]?.id ?? '';
  const conditions = before.flatMap((edge) => {
    const text = edge.condition?.text ?? edge.choice?.text;
    if (text === undefined) return [];
    // A function without a name is named by its edge, which says nothing here.
    const isNamed = text !== `${nameOf(edge)} -> ${node.id}`;
    return [`${nameOf(edge)}: ${isNamed ? text : 'decided by its code'}`];
  });
  const inside = actInside(node);
  const all = [...(node.when === undefined ? [] : [node.when.text]), ...conditions];
  return {
    id: node.id,
    type: node.type,
    description: undefined,
    dependsOn: before.map((edge) => ({ block: nameOf(edge), isRequired: edge.on === 'completed' })),
    condition: followsOf(graph, node) ?? (all.length === 0 ? undefined : all.join('; ')),
    forEach: undefined,
    effect: node.effect,
    ...(inside !== undefined && { inside }),
    ...(node.isDeclared === false && { isDeclared: false as const }),
    attempts: node.retry?.attempts ?? 1,
    isIdempotent: node.idempotent,
    asks: mayAsk(node),
    workflow: node.subgraph?.id,
    wave,
  };
}

const typeNames: Readonly<Record<string, WorkflowInput['type']>> = {
  string: 'str',
  number: 'num',
  integer: 'int',
  boolean: 'bool',
  array: 'list',
  object: 'dict',
};

/** The inputs that the graph's schema names; none if it cannot tell them. */
function inputsOf({ schemas }: Graph): readonly WorkflowInput[] {
  if (schemas.input === undefined) return [];
  let schema: ReturnType<typeof jsonSchemaOf>;
  try {
    schema = jsonSchemaOf(schemas.input, 'input', 'the input');
  } catch (error) {
    if (CairnError.is(error, 'CONFIG_INVALID')) return [];
    throw error;
  }
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, WorkflowInput['schema']>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, one]) => ({
    name,
    type: typeNames[String(one['type'])] ?? 'any',
    description: typeof one['description'] === 'string' ? one['description'] : undefined,
    isRequired: required.includes(name),
    default: one['default'],
    schema: one,
  }));
}
