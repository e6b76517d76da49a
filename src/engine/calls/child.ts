/** Child runs: frames inside their parent's history (W6). */
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { ChildResult } from '../../graph/node-contract.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { FrameTree } from '../../state/tree.ts';
import { type Activation, FrameRun } from '../run/frame-run.ts';
import { startPlanned } from '../settle/cancel.ts';
import { dropActivations } from '../settle/drop-children.ts';
import { asError } from '../admit/encode-error.ts';
import { maybeLeave, updateBusy } from '../waits/leave.ts';
import { newFrame } from '../admit/new-frame.ts';
import { offloadForm } from '../admit/offload.ts';
import type { RunCore } from '../run/run-core.ts';
import { settleStart } from '../settle/settle-start.ts';
import { enterEvents } from '../record/told-events.ts';
import { ensureSteps } from '../record/step-record.ts';
import { guardCall, never } from '../run/guard-call.ts';
import { keyAcrossSaves, nextStepKey } from '../record/step-keys.ts';
import { recordPathOf } from '../record/tree-path.ts';

/** Runs a graph as a child, or goes on with the one recorded under this name; resolves when it has ended. */
export async function runChild(
  core: RunCore,
  activation: Activation,
  graph: Graph,
  input: unknown,
  { name, onWaiting }: { readonly name: string; readonly onWaiting: (() => void) | undefined },
): Promise<ChildResult> {
  const depth = activation.frameRun.depth + 1;
  if (depth > core.env.limits.childDepth)
    throw new CairnError('RUN_LIMIT', {
      limit: 'childDepth',
      value: core.env.limits.childDepth,
      path: activation.path.join('/'),
    });
  const key = nextStepKey(core, activation, name);
  const { generation } = activation;
  const frameRun = await openWhileBusy(core, activation, () => openChild(core, activation, graph, input, key, depth));
  if (frameRun === undefined || !isRunning(activation, generation)) return never();
  frameRun.onWaiting = onWaiting;
  activation.childrenInFlight += 1;
  updateBusy(core, activation);
  await childEnd(frameRun, () => {
    core.agenda.childFrames.delete(frameRun);
    dropActivations(core, frameRun);
    if (!isRunning(activation, generation)) return;
    // At once, not a microtask later: until its function goes on, the parent is what the run is at work on.
    activation.childrenInFlight -= 1;
    updateBusy(core, activation);
    maybeLeave(core, activation);
  });
  return childResult(frameRun);
}

function isRunning(activation: Activation, generation: number): boolean {
  return activation.generation === generation && activation.phase === 'running';
}

/** Opening a child may take a moment, in which the parent is at work. */
async function openWhileBusy<T>(core: RunCore, activation: Activation, open: () => Promise<T>): Promise<T> {
  const { generation } = activation;
  activation.stepsInFlight += 1;
  try {
    return await open();
  } finally {
    if (activation.generation === generation) {
      activation.stepsInFlight -= 1;
      updateBusy(core, activation);
    }
  }
}

async function openChild(
  core: RunCore,
  activation: Activation,
  graph: Graph,
  input: unknown,
  key: string,
  depth: number,
): Promise<FrameRun | undefined> {
  const { generation } = activation;
  const record = ensureSteps(activation);
  const known = record.children !== undefined && Object.hasOwn(record.children, key) ? record.children[key] : undefined;
  const tree = known ?? (await newFrame(graph, input, core.env.limits, core.redact));
  const written = known ?? { ...tree, input: await offloadForm(core, tree.input) };
  if (!isRunning(activation, generation)) return undefined;
  if (activation.isCancelled) guardCall(activation, generation, 'run');
  const nodePath = [...activation.path, key];
  const frameRun = new FrameRun({
    graph,
    tree,
    treePath: [...recordPathOf(activation.path), 'children', key],
    delta: core.draft.delta,
    nodePath,
    keyParts: [...activation.keyParts, keyAcrossSaves(activation, key)],
    depth,
    starter: activation,
  });
  if (known?.failure !== undefined) return failedBefore(frameRun, known.failure);
  if (known === undefined) admitChild(core, activation, frameRun, key, written);
  core.agenda.childFrames.add(frameRun);
  startPlanned(core, frameRun, frameRun.plan.initial());
  core.loop.requestTurn();
  return frameRun;
}

/** It failed before this process took the run up, and its parent was not told yet. */
function failedBefore(frameRun: FrameRun, nodeId: string): FrameRun {
  frameRun.hasFailed = true;
  frameRun.failure = frameRun.frame.tree.nodes[nodeId]?.error;
  return frameRun;
}

/** @param written - its tree as it is written, a large input by reference (C5) */
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

/** A child has ended when its plan is done, or when it failed and nothing of it is being worked on. */
function childEnd(frameRun: FrameRun, onEnded: () => void): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (!frameRun.plan.isDone && !hasStopped(frameRun)) return;
      frameRun.onEnd = undefined;
      onEnded();
      resolve();
    };
    frameRun.onEnd = check;
    check();
  });
}

function hasStopped(frameRun: FrameRun): boolean {
  return frameRun.hasFailed && [...frameRun.activations.values()].every((activation) => activation.phase === 'left');
}

function childResult(frameRun: FrameRun): ChildResult {
  const { state } = frameRun.frame.openView();
  if (!frameRun.hasFailed) return { status: 'completed', state };
  const { failure } = frameRun;
  return { status: 'failed', state, error: asError(failure) };
}
