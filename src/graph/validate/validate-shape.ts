/** Checks the shape of the whole graph: reachability, joins and loops (G3, G4, G7). */
import type { GraphDefinition, GraphEdge, Loop } from '../graph.ts';
import type { LinkedGraph, LinkedNode } from '../shape/link-graph.ts';
import { maxLoopDepth } from '../shape/loops.ts';
import { nodePlace } from './validate-nodes.ts';
import type { Report } from './violations.ts';

const placeOf = (node: LinkedNode | undefined): string =>
  node?.definition === undefined ? (node?.id ?? '') : nodePlace(node.definition);

function checkReach(report: Report, linked: LinkedGraph): void {
  const reached = new Set<number>([0]);
  const open = [0];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const edge of linked.nodes[node]?.outgoing ?? []) {
      if (!reached.has(edge.to)) open.push(edge.to);
      reached.add(edge.to);
    }
  }
  if (linked.nodes[0]?.outgoing.length === 0) {
    report.error('G1', 'graph', 'no entry', 'add an edge from START to the node that comes first');
    return;
  }
  for (const [index, node] of linked.nodes.entries()) {
    if (index < 2 || reached.has(index)) continue;
    report.error(
      'G7',
      placeOf(node),
      'the node can never run: nothing leads to it from START',
      'lead an edge to it, or remove it',
    );
  }
}

function checkFirstJoin(report: Report, node: LinkedNode): void {
  const join = node.definition?.join;
  if (typeof join !== 'object' || join === null) return;
  const count = node.incoming.filter((edge) => !edge.leadsBack).length;
  if (join.first > count) {
    const message = `join first ${join.first}, but only ${count} edges can settle before it starts`;
    report.error('G3', placeOf(node), message, 'ask for fewer, or add edges; edges that lead back do not count');
  }
}

function checkLoop(report: Report, linked: LinkedGraph, loop: Loop): void {
  if (loop.heads.length < 2) return;
  const heads = loop.heads.map((head) => linked.nodes[head]?.id).join(', ');
  const message = `the loop of ${loop.nodes.length} nodes has several heads: ${heads}`;
  report.warn(
    'G4',
    `loop ${loop.id}`,
    message,
    'each round starts those that an edge led back to; enter the loop at one node if that is not meant',
  );
}

const isUnconditional = (edge: GraphEdge): boolean =>
  edge.condition === undefined && edge.choice === undefined && edge.on !== 'failed' && !edge.always;

/** Checks what shows only in the linked graph. */
export function validateShape(report: Report, definition: GraphDefinition, linked: LinkedGraph): void {
  checkReach(report, linked);
  for (const node of linked.nodes) checkFirstJoin(report, node);
  if (linked.isTooDeep) {
    report.error('G4', 'graph', `loops are nested deeper than ${maxLoopDepth}`, 'put the inner loops into a subgraph');
  }
  for (const edge of linked.edges) {
    if (!edge.always || !edge.leadsBack) continue;
    const fix = 'remove `always`: it would start round after round for ever';
    report.error('G3', linked.edgePlaces[edge.index] ?? '', 'an always edge that leads back into its loop', fix);
  }
  if (definition.policies?.routing === 'first') return;
  for (const loop of linked.loops) checkLoop(report, linked, loop);
  for (const edge of linked.edges) {
    if (edge.exitOf === undefined || !isUnconditional(edge)) continue;
    const message = `an unconditional edge out of the loop ${linked.loops[edge.exitOf]?.id ?? ''}`;
    report.warn(
      'G4',
      linked.edgePlaces[edge.index] ?? '',
      message,
      'it fires once, after the loop is done; give it a condition if that is not meant',
    );
  }
}
