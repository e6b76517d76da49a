/** Where a child run begins that does not begin at START, and what its first round can therefore never reach (W6). Pure. */
import type { Graph } from '../../graph/graph.ts';

/** The node that a frame begins at, and the nodes before it: those that no edges lead to from there, but for edges that lead back. */
export class Entry {
  readonly index: number;
  readonly #reached = new Set<number>();

  /** O(nodes + edges). */
  constructor(graph: Graph, entry: string) {
    this.index = graph.nodeIndex.get(entry) ?? 0;
    const queue = [this.index];
    for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
      if (this.#reached.has(node)) continue;
      this.#reached.add(node);
      for (const { to, backOf } of graph.nodes[node]?.outgoing ?? []) if (backOf === undefined) queue.push(to);
    }
  }

  isAfter(node: number): boolean {
    return this.#reached.has(node);
  }
}
