/** The state an activation saw when it started, read back for one that runs again later (E9). */
import { loadState } from '../history/load.ts';
import { compileChannels } from '../state/channel-table.ts';
import { DeltaBuilder } from '../state/delta.ts';
import { Frame } from '../state/frame.ts';
import type { FrameTree, RunTree } from '../state/tree.ts';
import type { Activation } from './activation.ts';
import type { RunCore } from './run-core.ts';

/** Replaces the activation's view with one of the state at `seq`. */
export async function openPinnedView(core: RunCore, activation: Activation, seq: number): Promise<void> {
  const { frameRun } = activation;
  let loading = core.pinnedRoots.get(seq);
  if (loading === undefined) {
    loading = loadState(core.env.store, core.env.blobs, core.run, seq).then((loaded) => loaded.root);
    core.pinnedRoots.set(seq, loading);
  }
  const tree = frameTreeAt(await loading, frameRun.treePath);
  const outputNames = new Map(
    frameRun.graph.nodes
      .filter((node) => node.outputAs !== undefined)
      .map((node) => [node.outputAs as string, node.id]),
  );
  const frame = new Frame(
    tree,
    frameRun.treePath,
    new DeltaBuilder(),
    compileChannels(frameRun.graph.reducers),
    outputNames,
  );
  activation.view.close();
  activation.view = frame.openView();
  activation.viewSeq = seq;
}

function frameTreeAt(root: RunTree, path: readonly string[]): FrameTree {
  let value: unknown = root;
  for (const key of path) value = (value as Record<string, unknown>)[key];
  return value as FrameTree;
}
