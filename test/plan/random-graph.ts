/** Random graphs with loops, several heads, nested loops, `always` edges and every kind of join; the same seed gives the same one. */
import { type EdgeDefinition, type GraphDefinition, type Join, END, START } from '../../src/graph/graph.ts';
import { findLoops } from '../../src/graph/shape/loops.ts';

export interface Sketch {
  /** Node 0 is START; the last is END if `hasEnd`. */
  readonly size: number;
  readonly hasEnd: boolean;
  readonly edges: readonly { readonly from: number; readonly to: number; readonly always: boolean }[];
  readonly joins: readonly Join[];
}

/** A pseudo-random number in [0, 1) from any integers: the same for the same ones. */
export function noise(...parts: readonly number[]): number {
  let x = 2166136261;
  for (const part of parts) {
    x = Math.imul(x ^ (part + 0x9e3779b9), 16777619);
    x = Math.imul(x ^ (x >>> 13), 0x5bd1e995);
    x ^= x >>> 15;
  }
  return (x >>> 0) / 4294967296;
}

/** A stream of pseudo-random numbers in [0, 1). */
export function createRandom(seed: number): () => number {
  let count = 0;
  return () => noise(seed, (count += 1));
}

function randomJoin(random: () => number, count: number): Join {
  const kind = random();
  if (kind < 0.35 || count === 0) return 'some';
  if (kind < 0.65) return 'all';
  return { first: Math.min(count, 1 + Math.floor(random() * 2)) };
}

/** Every node is reached from START; no `always` edge leads back. */
export function sketchGraph(
  seed: number,
  options: { readonly hasEnd?: boolean; readonly maxSize?: number } = {},
): Sketch {
  const random = createRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const size = 4 + below((options.maxSize ?? 18) - 4);
  const hasEnd = options.hasEnd ?? random() < 0.7;
  const links = new Map<number, { from: number; to: number; always: boolean }>();
  const link = (from: number, to: number): void => {
    const isLegal = to !== 0 && !(hasEnd && from === size - 1);
    if (isLegal && !links.has(from * size + to)) links.set(from * size + to, { from, to, always: random() < 0.12 });
  };
  for (let node = 1; node < size; node += 1) link(below(node), node);
  for (let extra = below(size * 1.5); extra > 0; extra -= 1) link(below(size), below(size));
  const edges = [...links.values()];
  const { backOf } = findLoops(size, edges);
  const kept = edges.map((edge, index) => (backOf[index] === undefined ? edge : { ...edge, always: false }));
  const joins = Array.from({ length: size }, (_, node) => {
    const join = randomJoin(
      random,
      edges.filter((edge, index) => edge.to === node && backOf[index] === undefined).length,
    );
    return hasEnd && node === size - 1 ? 'some' : join;
  });
  return { size, hasEnd, edges: kept, joins };
}

/** The id of a sketch's node. */
export function nodeId(sketch: Sketch, node: number): string {
  if (node === 0) return START;
  return sketch.hasEnd && node === sketch.size - 1 ? END : `n${node}`;
}

/** The sketch as a definition; edges keep their order. */
export function defineGraph(sketch: Sketch): GraphDefinition {
  const last = sketch.hasEnd ? sketch.size - 1 : sketch.size;
  const edges = sketch.edges.map((edge): EdgeDefinition => {
    const ends = { from: nodeId(sketch, edge.from), to: nodeId(sketch, edge.to) };
    return edge.always ? { ...ends, always: true } : ends;
  });
  const nodes = Array.from({ length: last - 1 }, (_, index) => ({
    id: `n${index + 1}`,
    type: 'function',
    effect: 'pure' as const,
    join: sketch.joins[index + 1] ?? 'some',
    implementation: { run: (): undefined => undefined },
  }));
  return { id: 'random', nodes, edges };
}
