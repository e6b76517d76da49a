/**
 * Decides whether ops change what a view of a frame shows: its input, its channels, outputs and failures of its nodes, and the run's cost
 * (E9).
 */
import { CairnError } from '../../errors.ts';
import { partitions } from '../../graph/contracts/node-contract.ts';
import type { NodeRecord, FrameTree, RunTree } from '../../state/tree.ts';
import { loadState, readHistory } from '../../history/load/load.ts';
import { DeltaBuilder } from '../../state/delta.ts';
import { Frame, type OpenView } from '../../state/frame.ts';
import type { Graph } from '../../graph/graph.ts';
import { migrateChannels, stateVersionOf } from '../../graph/compile/migrations.ts';
import { graphTables } from '../live-run/graph-tables.ts';
import type { Activation, FrameRun } from '../live-run/loop.ts';
import type { RunCore } from '../live-run/run-core.ts';

/** The names under which everything that a view shows is read. */
export const wholeView: readonly string[] = ['input', ...partitions, 'outputs', 'failures'];

/** Fields of a node's record that determine its output or failure. */
const resultFields: readonly string[] = ['status', 'output', 'outputOfSteps', 'error'];

/**
 * Whether ops may change what a view shows. It is never false if they do, but may be true if they do not: for example for the record of a
 * later visit, since the view may have shown the earlier visit's output.
 * @param ops - ops of a checkpoint, with values in stored form
 * @param treePath - keys from the run's root tree to the frame
 */
export function mayChangeState(ops: readonly unknown[], treePath: readonly string[]): boolean {
  return (ops as readonly (readonly [string, readonly string[], unknown])[]).some(([kind, path, value]) => {
    if (treePath.some((key, depth) => depth < path.length && path[depth] !== key)) return false;
    if (path.length <= treePath.length) return true;
    const [field, , ...inRecord] = path.slice(treePath.length);
    if (field === 'input' || field === 'channels' || field === 'spent') return true;
    if (field !== 'nodes') return false;
    if (inRecord.length > 0) return resultFields.includes(inRecord[0] as string);
    return kind !== 's' || mayChangeView(value as NodeRecord | undefined);
  });
}

/**
 * Whether a record that is set as a whole shows an output or failure, or belongs to a later visit or attempt and may have replaced one that
 * did.
 */
function mayChangeView(record: NodeRecord | undefined): boolean {
  if (record === undefined || 'output' in record || record.outputOfSteps !== undefined) return true;
  return record.status === 'failed' || record.visits !== undefined || record.attempt !== undefined;
}

// Opens again the state that an activation saw when it started, for one that is run again later (E9).

/** Up to this many rows, searching them is cheaper than loading a state. */
const rowsMax = 64;

/**
 * Gives the activation a view of the state at `seq`. In a fork that was made behind damage, from a snapshot, an activation from before the
 * damage gets a view of the fork point (K4).
 */
export async function openPinnedView(core: RunCore, activation: Activation, seq: number): Promise<void> {
  try {
    await pinView(core, activation, seq);
  } catch (error) {
    const forkPoint = core.run.parent?.seq;
    if (!CairnError.is(error, 'CHECKPOINT_CORRUPT') || forkPoint === undefined || seq >= forkPoint) throw error;
    await pinView(core, activation, forkPoint);
  }
}

/** Its present view serves if nothing shown by it has changed since; otherwise that state is loaded. */
async function pinView(core: RunCore, activation: Activation, seq: number): Promise<void> {
  const { frameRun } = activation;
  if (isFresh(core, activation) && (await isUnchanged(core, activation, seq))) {
    activation.viewSeq = seq;
    return;
  }
  let loading = core.pinnedRoots.get(seq);
  if (loading === undefined) {
    loading = loadState(core.env.store, core.env.blobs, core.run, seq).then(({ root }) => inNewForm(core, root));
    core.pinnedRoots.set(seq, loading);
  }
  const root = await loading;
  activation.view.close();
  activation.view = viewOf(root, frameRun);
  activation.viewSeq = seq;
}

/** An earlier state in the form that the code expects now: a visit that began before a migration sees it migrated, as it sees the rest. */
function inNewForm({ rootFrame: { graph } }: RunCore, root: RunTree): RunTree {
  const { stateVersion = 1, frame } = root;
  if (stateVersion >= stateVersionOf(graph.migrations)) return root;
  const channels = migrateChannels(
    graph.migrations,
    stateVersion,
    frame.channels,
    (given) => given as FrameTree['channels'],
  );
  return { ...root, frame: { ...frame, channels } };
}

/** A view of a frame in a loaded state. */
export function viewOf(root: RunTree, { graph, treePath }: FrameRun): OpenView {
  const { channels, outputNames, codeNames } = graphTables(graph);
  const tree = inFormOf(graph, frameTreeAt(root, treePath), treePath);
  return new Frame(tree, treePath, new DeltaBuilder(), channels, outputNames, codeNames).openView();
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

/** A child run's frame in the form that its graph's code expects now, as {@link inNewForm} gives the run's own. */
function inFormOf({ migrations }: Graph, tree: FrameTree, path: readonly string[]): FrameTree {
  const { stateVersion = 1, channels } = tree;
  if (path.length === 1 || stateVersion >= stateVersionOf(migrations)) return tree;
  return {
    ...tree,
    channels: migrateChannels(migrations, stateVersion, channels, (given) => given as typeof channels),
  };
}

function frameTreeAt(root: RunTree, path: readonly string[]): FrameTree {
  let value: unknown = root;
  for (const key of path) value = (value as Record<string, unknown>)[key];
  return value as FrameTree;
}
