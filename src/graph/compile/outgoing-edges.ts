/** Reads the edges of a node from the stored description of its graph. */
import type { GraphStructure } from '../graph.ts';

/** An edge as the description of a graph tells of it. */
export interface StoredEdge {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly label?: string;
  readonly on?: 'completed' | 'failed' | 'any';
  readonly always?: boolean;
  readonly condition?: { readonly text: string };
  readonly choice?: { readonly text: string };
  readonly weight?: number;
}

/** Edges that share a choice with an earlier one of their node name that edge, so that the choice is written once. */
interface Written extends Omit<StoredEdge, 'choice'> {
  readonly choice?: { readonly text: string } | { readonly sharedWith: string };
}

/** The edges of a structure by the node that they leave. A story asks at each visit, so the edges are gone through once. */
const indexes = new WeakMap<GraphStructure, ReadonlyMap<string, readonly StoredEdge[]>>();

/** All edges that leave a node, in order, each with the whole of its choice. The structure must not change afterwards. */
export function outgoingEdges(structure: GraphStructure, id: string): readonly StoredEdge[] {
  let index = indexes.get(structure);
  if (index === undefined) indexes.set(structure, (index = indexEdges(structure)));
  return index.get(id) ?? [];
}

function indexEdges(structure: GraphStructure): ReadonlyMap<string, readonly StoredEdge[]> {
  const index = new Map<string, StoredEdge[]>();
  for (const [id, edges] of Map.groupBy(structure.edges as unknown as readonly Written[], ({ from }) => from)) {
    const choices = new Map<string, StoredEdge['choice']>();
    const whole = edges.map(({ choice, ...edge }): StoredEdge => {
      const of = choice !== undefined && 'sharedWith' in choice ? choices.get(choice.sharedWith) : choice;
      choices.set(edge.key, of);
      return of === undefined ? edge : { ...edge, choice: of };
    });
    index.set(id, whole);
  }
  return index;
}
