/** Placeholder until the comparison lands. */
import type { Graph, GraphStructure } from './graph.ts';
export interface LiveNode {
  readonly id: string;
  readonly isOpen: boolean;
  readonly hasIntent: boolean;
  readonly isWaiting: boolean;
}
export function compareStructures(_stored: GraphStructure, _current: Graph, _live: { readonly nodes: readonly LiveNode[] }): { verdict: 'unchanged' | 'compatible' | 'needs-migration' | 'refused'; differences: readonly { what: string; detail: string }[] } {
  return { verdict: 'compatible', differences: [] };
}
