/** Tells which stages decide by the word of a model where the run goes. It is no fault, and so is told where somebody asks for it alone. */
import type { Graph, GraphNode, Violation } from '../../../graph/graph.ts';
import { readChoice, type Ways } from '../run/stage/choose-edge.ts';

/** Most stages that are looked at for one: diamonds behind it, which pass its outcome on. */
const readersMax = 100;

/** One warning for each such stage of a compiled pipeline, in branches too. */
export function lintVerdicts(graph: Graph): readonly Violation[] {
  const found: Violation[] = [];
  for (const node of graph.nodes) {
    if (node.subgraph !== undefined) found.push(...lintVerdicts(node.subgraph));
    const warning = verdictOf(graph, node);
    if (warning !== undefined) found.push(warning);
  }
  return found;
}

function verdictOf(graph: Graph, node: GraphNode): Violation | undefined {
  if (node.type !== 'codergen') return undefined;
  const { id } = node;
  const attributes = (node.config as { readonly attributes?: Readonly<Record<string, unknown>> } | undefined)
    ?.attributes;
  const isSet = (name: string): boolean => String(attributes?.[name]) === 'true';
  const warning = { rule: 'model_verdict', severity: 'warning', place: `node ${id}` } as const;
  const isGate = isSet('goal_gate');
  if (isGate || readsOutcome(graph, node)) {
    const silence = !isGate && isSet('auto_status') ? 'silence is a success' : 'without one it has failed';
    return {
      ...warning,
      message: `the word of a model decides how ${id} ended: its answer ends with an outcome, and ${silence}`,
      fix: 'where a command can tell, let a stage with a tool_command decide',
    };
  }
  const labels = waysOf(node)?.edges.filter(({ caption, clauses }) => caption !== '' && clauses.length === 0) ?? [];
  if (labels.length < 2) return undefined;
  return {
    ...warning,
    message: `the word of a model decides where ${id} leads: without one of its labels the heaviest edge is taken, and the first by name`,
    fix: 'give edges conditions on the outcome, which is asked for once more where it is missing',
  };
}

function readsOutcome(graph: Graph, node: GraphNode): boolean {
  // The set grows during the loop.
  const readers = new Set([node]);
  for (const reader of readers)
    for (const { clauses, takesFailures, to } of waysOf(reader)?.edges ?? []) {
      if (clauses.some(({ key, operator }) => key === 'outcome' && operator !== 'set')) return true;
      const target = graph.nodes[graph.nodeIndex.get(to) ?? -1];
      if (takesFailures && target !== undefined && readers.size < readersMax) readers.add(target);
    }
  return false;
}

function waysOf({ outgoing }: GraphNode): Ways | undefined {
  return readChoice(outgoing[0]?.choice?.text ?? '')?.ways;
}
