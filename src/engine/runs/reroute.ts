/** Routing decisions that a fork's patch touches are taken again, if none of their targets has started (H2). */
import { END, type Graph, type GraphEdge, type GraphNode, type Loop } from '../../graph/graph.ts';
import { pathJson } from '../../state/delta.ts';
import type { NodeRecord, RunTree } from '../../state/tree.ts';
import { type FrameRun, rootFrameRun } from '../run/frame-run.ts';
import type { SettledFields } from '../plan/plan.ts';
import { routeEdges } from '../plan/route.ts';
import type { RunCore } from '../run/run-core.ts';

/** A node whose decision came out otherwise: its record's new fields. */
export interface Rerouted {
  readonly nodeId: string;
  readonly fields: SettledFields;
  /** Whether the decision before held some firings back. */
  readonly hadHeld: boolean;
}

/** Takes decisions again under the patched state and puts them into the tree, before anything is planned from it. */
export function takeRoutesAgain(root: RunTree, graph: Graph): readonly Rerouted[] {
  const { patched } = root;
  if (patched === undefined) return [];
  const frameRun = rootFrameRun(graph, root.frame);
  const rerouted: Rerouted[] = [];
  for (const node of graph.nodes) {
    if (!isOpenToChange(frameRun, node)) continue;
    const fired = decideAgain(frameRun, node, patched);
    if (fired === undefined) continue;
    const hadHeld = frameRun.recordOf(node)?.held !== undefined;
    rerouted.push({ nodeId: node.id, fields: frameRun.plan.settledFields(node.index, fired), hadHeld });
  }
  for (const { nodeId, fields } of rerouted) {
    const record = root.frame.nodes[nodeId] as NodeRecord;
    record.fired = fields.fired;
    if (fields.held === undefined) delete record.held;
    else record.held = fields.held;
  }
  return rerouted;
}

/** Writes the new decisions to the next checkpoint. */
export function recordRoutes(core: RunCore, rerouted: readonly Rerouted[]): void {
  if (core.root.patched === undefined) return;
  core.draft.delete(['patched']);
  const { frame } = core.rootFrame;
  for (const { nodeId, fields, hadHeld } of rerouted) {
    const { fired, held } = fields;
    frame.setNodeField(nodeId, 'fired', fired, JSON.stringify(fired));
    if (held !== undefined) frame.setNodeField(nodeId, 'held', held, JSON.stringify(held));
    else if (hadHeld) core.draft.delta.delete(pathJson(['frame', 'nodes', nodeId, 'held']));
  }
  // What failed is tried anew, under what was patched (E9).
  for (const [nodeId, { status, fired }] of Object.entries(frame.tree.nodes))
    if (status === 'failed' && fired === undefined) frame.deleteNodeField(nodeId, 'view');
}

function isOpenToChange(frameRun: FrameRun, node: GraphNode): boolean {
  const record = frameRun.recordOf(node);
  if (
    record?.fired === undefined ||
    record.goto !== undefined ||
    record.status === 'skipped' ||
    frameRun.plan.stateOf(node.index) !== 'settled'
  )
    return false;
  if (!node.outgoing.some((edge) => edge.condition !== undefined || edge.choice !== undefined)) return false;
  return node.outgoing.every(({ to, backOf }) =>
    backOf === undefined ? isUnstarted(frameRun, to) : !isLeft(frameRun, backOf),
  );
}

function isUnstarted(frameRun: FrameRun, index: number): boolean {
  const state = frameRun.plan.stateOf(index);
  const target = frameRun.graph.nodes[index] as GraphNode;
  // END may be reached, but nothing starts there.
  if (state === 'settled') return target.id === END;
  return state !== 'open' || frameRun.openRecordOf(target) === undefined;
}

/**
 * Whether what follows a loop has started, or what follows a loop around it: it cannot go round again. Of an edge that leads back the
 * visit counts that it would start: had that round opened, its source would not be settled any more.
 */
function isLeft(frameRun: FrameRun, index: number): boolean {
  const { graph } = frameRun;
  const exits = graph.edges.filter(({ exitOf }) => exitOf === index);
  const { parent } = graph.loops[index] as Loop;
  return !exits.every(({ to }) => isUnstarted(frameRun, to)) || (parent !== undefined && isLeft(frameRun, parent));
}

/** Undefined: the decision read nothing that was patched, or comes out the same. */
function decideAgain(
  frameRun: FrameRun,
  node: GraphNode,
  patched: readonly string[],
): readonly GraphEdge[] | undefined {
  const record = frameRun.recordOf(node);
  const status = record?.status === 'failed' ? 'failed' : 'completed';
  const view = frameRun.frame.openView();
  const outcome = {
    status,
    output: record?.output,
    error: record?.error instanceof Error ? record.error : undefined,
  } as const;
  const { fired } = routeEdges({
    graph: frameRun.graph,
    node,
    goto: undefined,
    status,
    scope: () => ({ outcome, state: view.state }),
  });
  const reads = view.reads();
  view.close();
  const isTouched = reads.some((read) =>
    patched.some((channel) => channel === read || channel.startsWith(`${read}.`) || read.startsWith(`${channel}.`)),
  );
  if (!isTouched) return undefined;
  const keys = fired.map((edge) => edge.key);
  const before = record?.fired ?? [];
  return keys.length === before.length && keys.every((key) => before.includes(key)) ? undefined : fired;
}
