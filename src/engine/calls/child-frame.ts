/** The frame of a child run: created in its parent's record, or taken up from there (W6). */
import { CairnError } from '../../errors.ts';
import { stateVersionOf } from '../../graph/compile/migrations.ts';
import type { Graph } from '../../graph/graph.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { FrameTree } from '../../state/tree.ts';
import { newFrame } from '../validate/new-frame.ts';
import { offloadForm } from '../validate/offload.ts';
import { hashOfInput } from '../visit-records/node-record.ts';
import { recordPathOf } from '../visit-records/node-path.ts';
import { isCallTo, keyAcrossSaves } from '../visit-records/call-keys.ts';
import { deleteStep, ensureSteps } from '../visit-records/step-record.ts';
import { enterEvents } from '../visit-records/recorded-events.ts';
import { mayCallOtherwise } from '../visit-records/continued-visits.ts';
import { type Activation, FrameRun } from '../live-run/loop.ts';
import { guardCall, type RunCore } from '../live-run/run-core.ts';
import { startInitial } from '../settle/start-planned.ts';
import { settleStart } from '../settle/settle-start.ts';
import { dropWaitsOf } from '../waits/open-wait.ts';

/** The graph and input of a child run. */
export interface ChildCall {
  readonly graph: Graph;
  readonly input: unknown;
  /** The node to begin at; undefined for the graph's start. */
  readonly entry: string | undefined;
}

/**
 * Opens the child run with this key and starts what can start in it.
 * @returns undefined if the calling attempt is over
 * @throws INPUT_INVALID, VALUE_UNSTORABLE, NODE_CALL_REFUSED
 */
export async function openChild(
  core: RunCore,
  activation: Activation,
  key: string,
  call: ChildCall,
): Promise<FrameRun | undefined> {
  const { generation } = activation;
  checkEntry(activation, call);
  const inputHash = hashOfInput(core, activation, key, call.input);
  const known = recordedChild(core, activation, key, call, inputHash);
  const tree = known ?? { ...(await newTree(core, call)), given: inputHash, graph: call.graph.id };
  const written = known ?? { ...tree, input: await offloadForm(core, tree.input) };
  if (activation.generation !== generation || activation.phase !== 'running') return undefined;
  if (activation.isCancelled) guardCall(activation, generation, 'run');
  const frameRun = new FrameRun({
    graph: call.graph,
    tree,
    treePath: [...recordPathOf(activation.path), 'children', key],
    delta: core.draft.delta,
    nodePath: [...activation.path, key],
    keyParts: [...activation.keyParts, keyAcrossSaves(activation, key, tree.born)],
    depth: activation.frameRun.depth + 1,
    starter: activation,
  });
  if (known?.failure !== undefined) return failedBefore(frameRun, known.failure);
  if (known === undefined) admitChild(core, activation, frameRun, key, written);
  core.agenda.childFrames.add(frameRun);
  startInitial(core, frameRun, known !== undefined && activation.mayHaveBegun);
  core.loop.requestTurn();
  return frameRun;
}

/** @throws INPUT_INVALID, which names the child: its caller's input is another */
async function newTree(core: RunCore, { graph, input, entry }: ChildCall): Promise<FrameTree> {
  let tree: FrameTree;
  try {
    tree = await newFrame(graph, input, core.env.bounds, core.secrets.intake);
  } catch (error) {
    if (!CairnError.is(error, 'INPUT_INVALID')) throw error;
    throw new CairnError('INPUT_INVALID', { ...error.data, child: graph.id });
  }
  if (graph.migrations.length > 0) tree.stateVersion = stateVersionOf(graph.migrations);
  return entry === undefined ? tree : { ...tree, entry };
}

/**
 * The record of a child run, if it was started with the same input and at the same node as the call says now. A different one is never
 * taken up silently: in a fork the child runs again, in a resume the call is refused.
 */
function recordedChild(
  core: RunCore,
  activation: Activation,
  key: string,
  { entry, graph }: ChildCall,
  inputHash: string,
): FrameTree | undefined {
  const { children } = ensureSteps(activation);
  const known = children !== undefined && Object.hasOwn(children, key) ? children[key] : undefined;
  if (known === undefined) return undefined;
  // A child run that outlives a save is identified by its name alone, because the function goes on from what it saved.
  const hasOtherInput = known.born === undefined && known.given !== undefined && known.given !== inputHash;
  const hasOtherGraph = known.graph !== undefined && known.graph !== graph.id;
  const nodeFault = removedNodeFault(known, graph, key);
  if (!hasOtherInput && !hasOtherGraph && known.entry === entry && nodeFault === undefined) return known;
  if (mayCallOtherwise(activation) || known.left === true) return forgetChild(core, activation, key);
  if (nodeFault !== undefined && !hasOtherInput) return refuse(activation, nodeFault);
  const place = (node: string | undefined): string => (node === undefined ? 'its start' : `'${node}'`);
  if (hasOtherGraph)
    return refuse(
      activation,
      `child run ${key} is recorded as a run of graph ${known.graph}, and is called for with graph ${graph.id}; give it a name of its own`,
    );
  const reason = hasOtherInput
    ? `child run ${key} is recorded for another input; its input must be the same whenever its node is repeated`
    : `child run ${key} is recorded as begun at ${place(known.entry)}, and is called for at ${place(entry)}`;
  return refuse(activation, reason);
}

/** Says that a child run stands at a node which its graph does not have any more, if so: it would end there as if all were done. */
export function removedNodeFault(
  { nodes, failure, cancelled }: FrameTree,
  { id, nodeIndex }: Graph,
  key: string,
): string | undefined {
  if (failure !== undefined || cancelled !== undefined) return undefined;
  const gone = Object.keys(nodes).find((node) => nodes[node]?.fired === undefined && !nodeIndex.has(node));
  return gone === undefined
    ? undefined
    : `child run ${key} stands at node ${gone}, which its graph ${id} has no more; put the node back, or say which one it is now (renamed)`;
}

/** Removes a child run from the record, with its questions and the calls made to it. */
function forgetChild(core: RunCore, activation: Activation, key: string): undefined {
  const { frameRun, node, path } = activation;
  dropWaitsOf(core, [...path, key]);
  frameRun.frame.deleteNodeField(node.id, ['children', key]);
  const calls = Object.keys(frameRun.openRecordOf(node)?.steps ?? {}).filter((step) => isCallTo(key, step));
  for (const step of calls) deleteStep(core, activation, step);
}

function refuse({ path }: Activation, reason: string): never {
  throw new CairnError('NODE_CALL_REFUSED', { call: 'run', node: path.join('/'), reason });
}

/** @throws NODE_CALL_REFUSED the graph has no such node */
function checkEntry(activation: Activation, { graph, entry }: ChildCall): void {
  const fault = entry === undefined ? undefined : entryFault(graph, entry);
  if (fault !== undefined) refuse(activation, fault);
}

/** Why a child run cannot begin at this node; undefined if it can. */
function entryFault(graph: Graph, entry: string): string | undefined {
  if ((graph.nodeIndex.get(entry) ?? 0) > 1) return undefined;
  const known = graph.nodes.filter(({ index }) => index > 1).map(({ id }) => id);
  return `graph ${graph.id} has no node '${entry}' to begin at; it has ${known.join(', ')}`;
}

/** Marks a child run as failed that failed before this process took the run up; its parent has not taken that in yet. */
function failedBefore(frameRun: FrameRun, nodeId: string): FrameRun {
  frameRun.hasFailed = true;
  frameRun.failure = frameRun.frame.tree.nodes[nodeId]?.error;
  return frameRun;
}

/** @param written - the frame's tree in stored form, with a large input as a reference (C5) */
function admitChild(core: RunCore, activation: Activation, frameRun: FrameRun, key: string, written: FrameTree): void {
  const record = ensureSteps(activation);
  const { frame } = activation.frameRun;
  if (record.children === undefined) frame.setNodeField(activation.node.id, 'children', {}, '{}');
  frame.setNodeField(activation.node.id, ['children', key], frameRun.frame.tree, encodeValue(written));
  enterEvents(core, activation);
  core.draft.note({ kind: 'start', node: frameRun.nodePath, graphHash: frameRun.graph.hash });
  core.draft.mustCommit = true;
  settleStart(frameRun);
}
