/**
 * Describes a run at a checkpoint as one value: its state, the results of its nodes, and where it goes on. It is the same for every dialect
 * (C9).
 */
import { START, END, isFollowUp, type Graph } from '../../graph/graph.ts';
import { wavesOf } from '../../graph/shape/loops.ts';
import type { RunTree } from '../../state/tree.ts';
import type { RunProgress, Positions, WholeCheckpoint } from '../api.ts';
import { readHistory, readOwner } from '../../history/load/lineage.ts';
import { loadState } from '../../history/load/load.ts';
import { stateOf } from '../../history/read/state-at.ts';
import type { Change } from '../../history/stored/change.ts';
import { checkpointId } from '../../history/stored/checkpoint.ts';
import type { NodeResult } from '../../ports/checkpoint-store.ts';
import type { RunRow } from '../../ports/store.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { restingFrame } from './event-stream.ts';

// Computes a run's progress: how many nodes have settled, and which wave is being worked on.

/** Id of the node that computes declared outputs, in graphs made from text. */
export const outputsNode = 'outputs';

/** What progress is computed from: a graph, or what is recorded of it. */
export interface ProgressGraph extends Pick<Graph, 'structure'> {
  readonly nodes: readonly { readonly id: string }[];
  /** The text that it was written in; absent for graphs of programs. */
  readonly text?: unknown;
}

/** The nodes that the author wrote, without those that stand for start, end and declared outputs, and what follows a cancel or a failure. */
function authoredNodes({ nodes, text, structure }: ProgressGraph): ProgressGraph['nodes'] {
  const hidden = new Set([START, END, ...(text === undefined ? [] : [outputsNode])]);
  return nodes.filter(({ id }) => !hidden.has(id) && !isFollowUp(structure.policies, id));
}

/** @param passedBy - ids of skipped nodes */
export function progressOf(
  { status, frame: { nodes } }: RunTree,
  graph: ProgressGraph,
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

/** The target in an edge's key. Keys of parallel edges have a number after the target's id. */
const targetOf = (fired: string): string => fired.replace(/#\d+$/u, '');

/** Whether a node was written by the author; START and END were not. */
const isAuthored = ([id]: readonly [string, unknown]): boolean => id !== START && id !== END;

/** @param graph - needed to know which nodes were skipped by routing; undefined: only recorded skips are known */
export function positionsOf(root: RunTree, graph: Graph | undefined): Positions {
  const { nodes } = root.frame;
  const authored = Object.entries(nodes).filter(isAuthored);
  const idsWith = (status: string): readonly string[] =>
    authored.filter(([, node]) => node.status === status).map(([id]) => id);
  const settled = new Set(authored.filter(([, { fired }]) => fired !== undefined).map(([id]) => id));
  const passedBy = graph === undefined ? [] : restingFrame(root, graph).plan.skippedNodes();
  return {
    visitedNodes: idsWith('completed'),
    skippedNodes: [...new Set([...idsWith('skipped'), ...passedBy])].filter((id) => id !== END),
    pendingEdges: Object.entries(nodes).flatMap(([from, { fired = [] }]) =>
      fired
        .map(targetOf)
        .filter((to) => to !== END && !settled.has(to))
        .map((to) => `${from}->${to}`),
    ),
  };
}

/** The result of a node. @param id - id of a node that completed */
export function resultOfNode(
  graph: Graph | undefined,
  id: string,
  output: unknown,
  durationMs: number | undefined,
): NodeResult {
  const effectClass = graph?.nodes[graph.nodeIndex.get(id) ?? -1]?.effect ?? 'pure';
  return { effectClass, output, durationMs: durationMs ?? 0 };
}

/**
 * The node that a checkpoint was made for. What settled counts before what starts because of it. Undefined if it is about the run as a
 * whole.
 */
export function nodeOf(change: Change): string | undefined {
  const named = change.filter(({ node }) => node !== undefined);
  return (named.findLast(({ kind }) => kind === 'settle') ?? named.at(-1))?.node?.[0];
}

/** The durations of visits that a checkpoint settled, in ms, by id of a node in the run's own graph. */
export function durationsOf(change: Change): readonly (readonly [id: string, durationMs: number])[] {
  return change.flatMap(({ kind, node, durationMs }) =>
    kind === 'settle' && node?.length === 1 ? [[node[0] ?? '', durationMs ?? 0] as const] : [],
  );
}

/** Describes a run. It reads the whole history up to there, for the durations. @throws what {@link loadState} throws */
export async function readWholeCheckpoint(
  { store, blobs }: EngineEnvironment,
  run: RunRow,
  graph: Graph,
  seq: number = run.head,
): Promise<WholeCheckpoint> {
  const { root } = await loadState(store, blobs, run, seq);
  const durations = new Map<string, number>();
  let nodeId: string = START;
  let timestamp = run.createdAt;
  for await (const { checkpoint } of readHistory(store, run, { from: 0, to: seq })) {
    for (const [id, durationMs] of durationsOf(checkpoint.change)) durations.set(id, durationMs);
    nodeId = nodeOf(checkpoint.change) ?? nodeId;
    timestamp = checkpoint.at;
  }
  const state = stateOf(root);
  const positions = positionsOf(root, graph);
  const results = positions.visitedNodes.map(
    (id) => [id, resultOfNode(graph, id, state.outputs[id], durations.get(id))] as const,
  );
  return {
    id: checkpointId((await readOwner(store, run, seq)).key, seq),
    graphId: run.graphId,
    runId: run.runId,
    nodeId,
    timestamp,
    state,
    nodeResults: Object.fromEntries(results),
    ...positions,
    progress: progressOf(root, graph, positions.skippedNodes),
  };
}
