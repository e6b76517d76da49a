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

/** All edges that leave a node, in order, each with the whole of its choice. */
export function outgoingEdges(structure: GraphStructure, id: string): readonly StoredEdge[] {
  const choices = new Map<string, StoredEdge['choice']>();
  const edges = structure.edges as unknown as readonly Written[];
  return edges.flatMap(({ choice, ...edge }) => {
    if (edge.from !== id) return [];
    const whole = choice !== undefined && 'sharedWith' in choice ? choices.get(choice.sharedWith) : choice;
    choices.set(edge.key, whole);
    return [whole === undefined ? edge : { ...edge, choice: whole }];
  });
}
