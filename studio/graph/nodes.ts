/** What is said of the nodes and edges of a graph. Pure. */
import { writtenLabels } from '../../src/dialects/dot/picture/edge-labels.ts';
import type { StructureEdge, StructureNode } from '../data/types.ts';
import type { Tone } from '../words.ts';

/** How a node stands. */
export interface NodeStanding {
  readonly tone: Tone;
  readonly visits: number;
}

/** What its author called a node, in a pipeline of DOT. */
export function labelOfNode(node: StructureNode | undefined): string | undefined {
  const label = node?.config?.attributes?.['label'];
  return typeof label === 'string' && label !== '' ? label : undefined;
}

/** Whether it, or something within it, changes the world. */
export const actsOutside = ({ effect, subgraph }: StructureNode): boolean =>
  effect === 'external' || effect === 'write' || subgraph?.nodes.some(actsOutside) === true;

/** What stands at edges, where it says something: what their authors wrote, conditions of pipelines, and that they are for failures. */
export function edgeWords(edges: readonly StructureEdge[]): ReadonlyMap<unknown, string> {
  const written = writtenLabels(edges as readonly (StructureEdge & Readonly<Record<string, unknown>>)[]);
  return new Map(edges.map((edge, index) => [edge, written[index] ?? (edge.on === 'failed' ? 'if it fails' : '')]));
}
