/** How far a run is: nodes settled, and the wave it works on. */
import { START, END, type Graph } from '../graph/graph.ts';
import { isFromGraphText, outputsNode } from './run-outputs.ts';
import type { StandingAt } from './standing-at.ts';

export interface RunProgress {
  /** Ids of all nodes that the author wrote, in the order of the definition. */
  readonly nodes: readonly string[];
  /** Ids of the nodes that completed, in the order of the definition. */
  readonly completed: readonly string[];
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** The wave of the first node that is not settled, counted from 0; as many as there are waves: all are. */
  readonly wave: number;
  readonly waveCount: number;
  /** Nodes settled of all, 0 to 100. */
  readonly percent: number;
}

/** What the author wrote: the nodes that stand for the start, the end and the declared outputs are none of it. */
function authoredNodes(graph: Graph): Graph['nodes'] {
  const hidden = new Set(isFromGraphText(graph) ? [START, END, outputsNode] : [START, END]);
  return graph.nodes.filter(({ id }) => !hidden.has(id));
}

/** The wave of each node by index: one more than the last of those before it. Edges that lead back are left out. */
export function waveOf(graph: Graph): ReadonlyMap<number, number> {
  const waves = new Map<number, number>();
  const visit = (index: number): number => {
    const known = waves.get(index);
    if (known !== undefined) return known;
    const before = (graph.nodes[index]?.incoming ?? []).filter((edge) => edge.backOf === undefined && edge.from !== 0);
    const wave = before.reduce((latest, edge) => Math.max(latest, visit(edge.from) + 1), 0);
    waves.set(index, wave);
    return wave;
  };
  for (const { index } of graph.nodes) visit(index);
  return waves;
}

export function progressOf({ graph, nodes, result }: StandingAt): RunProgress {
  const skipped = new Set(result.skipped);
  const authored = authoredNodes(graph);
  const waves = waveOf(graph);
  const idsWith = (status: string): readonly string[] =>
    authored.filter(({ id }) => nodes[id]?.status === status).map(({ id }) => id);
  const isSettled = ({ id }: { readonly id: string }): boolean => nodes[id]?.fired !== undefined || skipped.has(id);
  const waveCount = Math.max(0, ...authored.map(({ index }) => (waves.get(index) ?? 0) + 1));
  const open = authored.filter((node) => !isSettled(node));
  const isOver = result.status === 'completed';
  const settled = authored.length - open.length;
  return {
    nodes: authored.map(({ id }) => id),
    completed: idsWith('completed'),
    failed: idsWith('failed'),
    skipped: authored.filter(({ id }) => skipped.has(id)).map(({ id }) => id),
    wave: isOver || open.length === 0 ? waveCount : Math.min(...open.map(({ index }) => waves.get(index) ?? 0)),
    waveCount,
    percent: isOver || authored.length === 0 ? 100 : Math.round((settled / authored.length) * 1000) / 10,
  };
}
