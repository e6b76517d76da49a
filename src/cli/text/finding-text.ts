/** What other code does to a run, in lines for a terminal. */
import type { RunFinding } from '../../operations/runs/findings.ts';

/** `price: removed: its output stays on record, and nobody reads it` */
export function findingText({ node, why }: RunFinding): string {
  return node === undefined ? why : `${node}: ${why}`;
}

/** What equal sources do not tell. */
export function sameSourceText(nodes: readonly string[]): string {
  return `same source, captured values unknown: ${nodes.join(', ')}. Say what they use (uses), or give the graph a version.`;
}
