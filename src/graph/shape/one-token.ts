/** Graphs in which no two nodes are ever due at once: whoever settles leads on to one node at most. */
import type { Arrow } from './loops.ts';

/** What tells, of a definition or of a stored structure. */
interface Routed {
  readonly policies?: { readonly routing?: unknown };
  readonly nodes: readonly { readonly join?: unknown }[];
  readonly edges: readonly { readonly always?: unknown }[];
}

/**
 * Whether one edge at most fires out of every node, START included, and a node starts with the first edge that leads to it. A run of
 * such a graph is one token on its way from node to node: nothing has to be waited for, so its loops need not be known.
 */
export function holdsOneToken({ policies, nodes, edges }: Routed): boolean {
  return (
    policies?.routing === 'first' &&
    edges.every(({ always }) => always !== true) &&
    nodes.every(({ join = 'some' }) => join === 'some')
  );
}

/**
 * For each edge, whether it leads back: to a node on the way on which a walk came to its source, which goes as deep as it can before it
 * turns. Without these edges there is no cycle. Where every cycle is entered at one node, they are the edges into that node, whatever
 * the order of the walk. Walks begin at node 0. O(nodes + edges).
 * @param edges - in the order in which a walk takes those of one node
 */
export function edgesBack(nodeCount: number, edges: readonly Arrow[]): readonly boolean[] {
  const outgoing = Array.from({ length: nodeCount }, (): number[] => []);
  for (const [index, { from }] of edges.entries()) outgoing[from]?.push(index);
  const isBack = edges.map(() => false);
  const isOnWay = new Uint8Array(nodeCount);
  const isSeen = new Uint8Array(nodeCount);
  const taken = new Int32Array(nodeCount);
  for (let root = 0; root < nodeCount; root += 1) {
    // A list, not recursion: a chain of 10,000 nodes must not overflow the machine's stack.
    const way = isSeen[root] === 1 ? [] : [root];
    for (let node = way.at(-1); node !== undefined; node = way.at(-1)) {
      isSeen[node] = isOnWay[node] = 1;
      const edge = outgoing[node]?.[taken[node] as number];
      if (edge === undefined) {
        isOnWay[node] = 0;
        way.pop();
        continue;
      }
      taken[node] = (taken[node] as number) + 1;
      const to = edges[edge]?.to as number;
      isBack[edge] = isOnWay[to] === 1;
      if (isSeen[to] === 0) way.push(to);
    }
  }
  return isBack;
}
