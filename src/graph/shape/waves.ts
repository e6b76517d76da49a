/**
 * Groups nodes into waves: nodes that could start together if each wave waited for all earlier ones. For display and progress only; runs do
 * not wait for waves.
 */
import { START, type GraphStructure } from '../graph.ts';
import type { Arrow } from './loops.ts';
import { edgesBack } from './one-token.ts';

/** The wave of each node, counted from 0: the length of the longest path to it, without edges that lead back. O(nodes + edges). */
export function waveNumbers(nodeCount: number, edges: readonly Arrow[]): readonly number[] {
  const isBack = edgesBack(nodeCount, edges);
  const forward = edges.filter((_, index) => isBack[index] === false);
  const outgoing = Array.from({ length: nodeCount }, (): number[] => []);
  const pending = Array.from({ length: nodeCount }, () => 0);
  for (const { from, to } of forward) {
    outgoing[from]?.push(to);
    pending[to] = (pending[to] ?? 0) + 1;
  }
  const waves = Array.from({ length: nodeCount }, () => 0);
  const order = waves.flatMap((_, node) => (pending[node] === 0 ? [node] : []));
  for (let next = 0; next < order.length; next += 1) {
    const node = order[next] as number;
    for (const to of outgoing[node] ?? []) {
      waves[to] = Math.max(waves[to] ?? 0, (waves[node] ?? 0) + 1);
      pending[to] = (pending[to] ?? 0) - 1;
      if (pending[to] === 0) order.push(to);
    }
  }
  return waves;
}

/**
 * The waves of a stored graph: lists of node ids, each in the order of the structure.
 * @param isShown - whether a node appears in the lists
 */
export function wavesOf(
  structure: GraphStructure,
  isShown: (node: Readonly<Record<string, unknown>>) => boolean,
): readonly (readonly string[])[] {
  // Nodes that are not shown, the start included, take part too: a loop may be entered from them.
  const ids = [START, ...structure.nodes.map((node) => String(node['id']))];
  const indexOf = new Map(ids.map((id, index) => [id, index]));
  const edges = structure.edges.flatMap((edge): Arrow[] => {
    const from = indexOf.get(String(edge['from']));
    const to = indexOf.get(String(edge['to']));
    return from === undefined || to === undefined ? [] : [{ from, to }];
  });
  const waves = waveNumbers(ids.length, edges);
  const shown = structure.nodes.flatMap((node, index) => (isShown(node) ? [index + 1] : []));
  return groupByWave(
    shown.map((index) => ids[index] ?? ''),
    shown.map((index) => waves[index] ?? 0),
  );
}

/** Groups ids by wave number; empty waves are left out. */
export function groupByWave(ids: readonly string[], waves: readonly number[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  for (const [index, id] of ids.entries()) (groups[waves[index] ?? 0] ??= []).push(id);
  return groups.filter((group) => group !== undefined);
}
