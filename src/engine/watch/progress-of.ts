/** Computes a run's progress: how many nodes have settled, and which wave is being worked on. */
import { START, END, type Graph } from '../../graph/graph.ts';
import { wavesOf } from '../../graph/shape/waves.ts';
import type { RunTree } from '../../state/tree.ts';
import type { RunProgress } from '../api.ts';

/** Id of the node that computes declared outputs, in graphs made from text. */
export const outputsNode = 'outputs';

/** The nodes that the author wrote, without those that stand for start, end and declared outputs. */
function authoredNodes(graph: Graph): Graph['nodes'] {
  const hidden = new Set(graph.text === undefined ? [START, END] : [START, END, outputsNode]);
  return graph.nodes.filter(({ id }) => !hidden.has(id));
}

/** @param passedBy - ids of skipped nodes */
export function progressOf(
  { status, frame: { nodes } }: RunTree,
  graph: Graph,
  passedBy: readonly string[],
): RunProgress {
  const skipped = new Set(passedBy);
  const authored = authoredNodes(graph);
  const ids = new Set(authored.map(({ id }) => id));
  const waves = wavesOf(graph.structure, ({ id }) => typeof id === 'string' && ids.has(id));
  const waveOf = new Map(waves.flatMap((members, wave) => members.map((id) => [id, wave] as const)));
  const idsWith = (status: string): readonly string[] =>
    authored.filter(({ id }) => nodes[id]?.status === status).map(({ id }) => id);
  const isSettled = ({ id }: { readonly id: string }): boolean => nodes[id]?.fired !== undefined || skipped.has(id);
  const waveCount = waves.length;
  const open = authored.filter((node) => !isSettled(node));
  const isOver = status === 'completed';
  const settled = authored.length - open.length;
  return {
    nodes: authored.map(({ id }) => id),
    completed: idsWith('completed'),
    failed: idsWith('failed'),
    skipped: authored.filter(({ id }) => skipped.has(id)).map(({ id }) => id),
    wave:
      isOver || open.length === 0
        ? waveCount
        : open.reduce((least, { id }) => Math.min(least, waveOf.get(id) ?? 0), waveCount),
    waveCount,
    percent: isOver || authored.length === 0 ? 100 : Math.round((settled / authored.length) * 1000) / 10,
  };
}
