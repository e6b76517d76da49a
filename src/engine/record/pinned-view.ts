/** Opens again the state that an activation saw when it started, for one that is run again later (E9). */
import { loadState, readHistory } from '../../history/load/load.ts';
import { compileChannels } from '../../state/channels/channel-table.ts';
import { DeltaBuilder } from '../../state/delta.ts';
import { Frame, type OpenView } from '../../state/frame.ts';
import type { FrameTree, RunTree } from '../../state/tree.ts';
import type { Activation, FrameRun } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import { mayChangeState } from './shown-state.ts';

/** Up to this many rows, searching them is cheaper than loading a state. */
const rowsMax = 64;

/**
 * Gives the activation a view of the state at `seq`. The view that it has is kept if nothing shown by it has changed since; otherwise that
 * state is loaded.
 */
export async function openPinnedView(core: RunCore, activation: Activation, seq: number): Promise<void> {
  const { frameRun } = activation;
  if (isFresh(core, activation) && (await isUnchanged(core, activation, seq))) {
    activation.viewSeq = seq;
    return;
  }
  let loading = core.pinnedRoots.get(seq);
  if (loading === undefined) {
    loading = loadState(core.env.store, core.env.blobs, core.run, seq).then((loaded) => loaded.root);
    core.pinnedRoots.set(seq, loading);
  }
  const root = await loading;
  activation.view.close();
  activation.view = viewOf(root, frameRun);
  activation.viewSeq = seq;
}

/** A view of a frame in a loaded state. */
export function viewOf(root: RunTree, { graph, treePath }: FrameRun): OpenView {
  const outputNames = new Map(
    graph.nodes.filter((node) => node.outputAs !== undefined).map((node) => [node.outputAs as string, node.id]),
  );
  const channels = compileChannels(graph.reducers);
  return new Frame(frameTreeAt(root, treePath), treePath, new DeltaBuilder(), channels, outputNames).openView();
}

/** Whether the activation's newly opened view still shows the state that this process loaded. */
function isFresh(core: RunCore, { frameRun }: Activation): boolean {
  const pending = JSON.parse(core.draft.delta.peek()) as readonly unknown[];
  return core.committer.seq === core.resumedSeq && !mayChangeState(pending, frameRun.treePath);
}

/** Whether the loaded state shows the same as the state at `seq`. */
async function isUnchanged(core: RunCore, { frameRun }: Activation, seq: number): Promise<boolean> {
  const { env, run, resumedSeq } = core;
  if (resumedSeq - seq > rowsMax) return false;
  for await (const { checkpoint } of readHistory(env.store, run, { from: seq + 1, to: resumedSeq })) {
    if (mayChangeState(checkpoint.ops, frameRun.treePath)) return false;
  }
  return true;
}

function frameTreeAt(root: RunTree, path: readonly string[]): FrameTree {
  let value: unknown = root;
  for (const key of path) value = (value as Record<string, unknown>)[key];
  return value as FrameTree;
}
