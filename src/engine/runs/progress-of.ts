/** How far a run is: nodes settled, and the wave it works on. */
import { START, END, type Graph } from '../../graph/graph.ts';
import { wavesOf } from '../../graph/shape/waves.ts';
import type { RunTree } from '../../state/tree.ts';
import type { RunProgress } from '../api.ts';

/** The node of a graph made from a text that computes what the text declares as outputs. */
export const outputsNode = 'outputs';

/** What the author wrote: the nodes that stand for the start, the end and the declared outputs are none of it. */
function authoredNodes(graph: Graph): Graph['nodes'] {
  const hidden = new Set(graph.text === undefined ? [START, END] : [START, END, outputsNode]);
  return graph.nodes.filter(({ id }) => !hidden.has(id));
}

/** @param passedBy - ids of nodes that are skipped */
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
