/** What is odd about a graph that compiles: ways that never end, and options that say nothing where they stand. Pure. */
import { END, START, type Graph, type GraphEdge, type GraphNode, type Violation } from '../graph.ts';

type Warn = (rule: string, place: string, message: string, fix: string) => void;

/**
 * Warnings alone: errors of a graph are reported when it is compiled. Child graphs are looked into, with the node that runs them before the
 * place.
 */
export function lintGraph(graph: Graph): readonly Violation[] {
  const found: Violation[] = [];
  lintInto(found, graph, '');
  return found;
}

function lintInto(found: Violation[], graph: Graph, within: string): void {
  const warn: Warn = (rule, place, message, fix) =>
    void found.push({ rule, severity: 'warning', place: `${within}${place}`, message, fix });
  lintEnds(graph, warn);
  lintLoops(graph, warn);
  lintWeights(graph, warn);
  for (const node of graph.nodes) {
    if (node.id === START || node.id === END) continue;
    lintOptions(graph, node, warn);
    if (node.isDeclared === false)
      warn(
        'undeclared_effect',
        `node ${node.id}`,
        `${node.id} declares no effect class: it counts as pure, and is begun again if its process ends while it runs`,
        "declare effectClass: 'pure' or 'read' if that does no harm, else 'write' or 'external'",
      );
    if (node.subgraph !== undefined) lintInto(found, node.subgraph, `${within}${node.id}/`);
  }
}

/** Nodes from which no way leads out: a run that comes to one of them goes round until a bound stops it. */
function lintEnds({ nodes }: Graph, warn: Warn): void {
  const leading = new Set(
    nodes.filter(({ outgoing, id }) => outgoing.length === 0 || id === END).map(({ index }) => index),
  );
  // The set grows while it is gone through.
  for (const index of leading) for (const { from } of nodes[index]?.incoming ?? []) leading.add(from);
  for (const { id, index } of nodes)
    if (!leading.has(index))
      warn('unreachable_terminal', `node ${id}`, `no way leads from ${id} to the end`, 'lead a way out of its loop');
}

/** Loops that go round whatever their nodes say. */
function lintLoops({ nodes, edges, policies }: Graph, warn: Warn): void {
  const always = ({ index, condition, choice, on, from }: GraphEdge): boolean =>
    condition === undefined &&
    choice === undefined &&
    on !== 'failed' &&
    (policies.routing === 'all' || nodes[from]?.outgoing[0]?.index === index);
  for (const edge of edges) {
    if (!edge.leadsBack || !always(edge)) continue;
    const reached = new Set([edge.to]);
    for (const index of reached)
      for (const next of nodes[index]?.outgoing ?? []) if (!next.leadsBack && always(next)) reached.add(next.to);
    const [from, to] = [nodes[edge.from]?.id, nodes[edge.to]?.id];
    if (reached.has(edge.from))
      warn(
        'unbounded_loop',
        `edge ${from} -> ${to}`,
        `nothing decides whether the loop from ${to} to ${from} goes round again: it does, until maxVisits fails the run`,
        'give an edge of the loop a condition',
      );
  }
}

function lintWeights({ nodes, edges, policies }: Graph, warn: Warn): void {
  if (policies.routing === 'first') return;
  for (const { weight, from, to } of edges)
    if (weight !== 0)
      warn(
        'inert_option',
        `edge ${nodes[from]?.id} -> ${nodes[to]?.id}`,
        'weight has no effect: every edge whose condition holds fires',
        "take it out, or let the graph have routing 'first'",
      );
}

function lintOptions({ policies }: Graph, node: GraphNode, warn: Warn): void {
  const { id, effect, loops } = node;
  const isEffect = effect === 'write' || effect === 'external';
  const inert = (option: string, why: string): void =>
    warn('inert_option', `node ${id}`, `${option} of ${id} has no effect: ${why}`, 'take it out');
  if (node.onInDoubt === 'fail' && !isEffect) inert('onInDoubt', `it is ${effect}, and is never in doubt`);
  if (node.maxVisits !== policies.maxVisits && loops.length === 0) inert('maxVisits', 'it is in no loop');
}
