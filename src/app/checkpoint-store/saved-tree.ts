/** Converts checkpoints of another runtime to states of our runs, and back. Only what changed is written. */
import { isDeepStrictEqual } from 'node:util';
import { CairnError } from '../../errors.ts';
import type { Checkpoint, GraphState } from '../../ports/checkpoint-store.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import type { NodeRecord, RunTree } from '../../state/tree.ts';
import { getOwn, isPlainObject } from '../../state/values/plain.ts';

/** Parts of a checkpoint that our state has no field for. They are kept beside the channels, where views of a state do not show them. */
type Beside = Pick<Checkpoint, 'visitedNodes' | 'skippedNodes' | 'pendingEdges' | 'memorySnapshot'> & {
  readonly effects: Readonly<Record<string, Checkpoint['nodeResults'][string]['effectClass']>>;
  readonly durations: Readonly<Record<string, number>>;
};
const beside = 'checkpoint';

const keyedPartitions = ['scratch', 'artifacts', 'diagnostics'] as const;
type Names = Pick<Checkpoint, 'id' | 'graphId' | 'runId' | 'nodeId' | 'timestamp'>;

/** Makes the initial state of a run, before anything was saved. */
export function beginTree(writer: TreeWriter): void {
  writer.set(['status'], 'paused');
  writer.set(['graphHash'], '');
  writer.set(['waits'], {});
  const channels = { ...Object.fromEntries(keyedPartitions.map((name) => [name, {}])), [beside]: {} };
  writer.set(['frame'], { input: null, channels, nodes: {} });
}

/** Changes the state to that of a checkpoint. @param saved - plain JSON. @throws USAGE_INVALID a partition is not an object */
export function saveIntoTree(writer: TreeWriter, { state, nodeResults, ...saved }: Checkpoint): void {
  setState(writer, state);
  const results = Object.entries(nodeResults);
  const done = new Set(saved.visitedNodes);
  const nodes = results.map(([id, { output }]): readonly [string, NodeRecord] => [
    id,
    { status: done.has(id) ? 'completed' : 'started', ...(output !== undefined && { output }), fired: [] },
  ]);
  const skipped = (saved.skippedNodes ?? []).map((id) => [id, { status: 'skipped', fired: [] }] as const);
  setPart(writer, ['frame', 'nodes'], Object.fromEntries([...skipped, ...nodes]));
  const rest: Beside = {
    visitedNodes: saved.visitedNodes,
    ...(saved.skippedNodes && { skippedNodes: saved.skippedNodes }),
    pendingEdges: saved.pendingEdges,
    ...(saved.memorySnapshot && { memorySnapshot: saved.memorySnapshot }),
    effects: Object.fromEntries(results.map(([id, { effectClass }]) => [id, effectClass])),
    durations: Object.fromEntries(results.map(([id, { durationMs }]) => [id, durationMs])),
  };
  setPart(writer, ['frame', 'channels', beside], rest);
}

/** Replaces partitions, each of them whole. */
export function patchTree(writer: TreeWriter, patch: Partial<GraphState>): void {
  setState(writer, { ...stateIn(writer.root), ...patch });
}

export function checkpointIn({ frame }: RunTree, names: Names): Checkpoint {
  const { effects, durations, ...rest } = frame.channels[beside] as unknown as Beside;
  const results = Object.entries(effects).map(([id, effectClass]) => {
    const output = frame.nodes[id]?.output;
    return [id, { effectClass, ...(output !== undefined && { output }), durationMs: durations[id] ?? 0 }];
  });
  return {
    ...names,
    state: stateIn({ frame }),
    nodeResults: Object.fromEntries(results) as Checkpoint['nodeResults'],
    ...rest,
  };
}

function stateIn({ frame: { input, channels } }: Pick<RunTree, 'frame'>): GraphState {
  const { scratch = {}, artifacts = {}, diagnostics = {} } = channels;
  return { input, scratch, artifacts, diagnostics };
}

function setState(writer: TreeWriter, state: GraphState): void {
  setPart(writer, ['frame', 'input'], state.input ?? null);
  for (const name of keyedPartitions) {
    const values = state[name] ?? {};
    if (!isPlainObject(values))
      throw new CairnError('USAGE_INVALID', {
        reason: `state.${name} of the checkpoint is no object`,
        hint: 'Give its values names.',
      });
    setPart(writer, ['frame', 'channels', name], values);
  }
}

/** Writes the differences: changed keys of objects, and items appended to lists. */
function setPart(writer: TreeWriter, path: readonly string[], after: unknown): void {
  const before = path.reduce<unknown>((part, key) => getOwn(part as object, key), writer.root);
  if (isDeepStrictEqual(before, after)) return;
  if (isPlainObject(before) && isPlainObject(after)) {
    for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) writer.delete([...path, key]);
    for (const [key, value] of Object.entries(after)) setPart(writer, [...path, key], value);
  } else if (
    Array.isArray(before) &&
    Array.isArray(after) &&
    isDeepStrictEqual(before, after.slice(0, before.length))
  ) {
    const added: readonly unknown[] = after.slice(before.length);
    writer.append(path, added, JSON.stringify(added));
  } else writer.set(path, after);
}
