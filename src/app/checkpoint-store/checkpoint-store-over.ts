/**
 * Offers one of our stores through the interface of checkpoint stores, for other runtimes that use it. Each of their runs becomes a run
 * here, and each checkpoint one of its checkpoints, stored as the difference from the one before and tagged with its original id. So these
 * runs can be logged, shown, compared, exported and backed up like any other.
 */
import { CairnError } from '../../errors.ts';
import type { Checkpoint, GraphState, CheckpointMetadata, ICheckpointStore } from '../../ports/checkpoint-store.ts';
import { writeDifference } from '../../state/tree-difference.ts';
import { TreeWriter } from '../../state/tree-writer.ts';
import type { NodeRecord, RunTree } from '../../state/tree.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { randomUUID } from 'node:crypto';
import { loadState, readOwner } from '../../history/load/load.ts';
import { writeDueSnapshot } from '../../history/load/fold-stored.ts';
import { readAllRuns } from '../../history/access/read-all.ts';
import type { WritePlace } from '../../history/access/place.ts';
import { withClaim } from '../../history/access/claim-run.ts';
import { checkTagName } from '../../history/read/tag-checkpoint.ts';
import { readUserTags } from '../../history/read/deleted-marks.ts';
import { removeCheckpoint } from '../../history/retention/remove-checkpoint.ts';
import { removeRun } from '../../history/retention/remove-run.ts';
import { checkNewRunId } from '../../history/stored/run-ids.ts';
import type { Change, ChangePart } from '../../history/stored/change.ts';
import { decodeCheckpoint, encodeCheckpoint, rootChecksum, runKeyOf } from '../../history/stored/checkpoint.ts';
import type { RunRow, Store, TagRow } from '../../ports/store.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { historyOptionNames, openPlace, type HistoryOptions } from '../open-store/open-history.ts';

// Converts checkpoints of another runtime to states of our runs, and back. Only what changed is written.

/** Parts of a checkpoint that our state has no field for. They are stored beside the channels, where views of a state do not show them. */
type Beside = Pick<Checkpoint, 'visitedNodes' | 'skippedNodes' | 'pendingEdges' | 'memorySnapshot'> & {
  readonly effects: Readonly<Record<string, Checkpoint['nodeResults'][string]['effectClass']>>;
  readonly durations: Readonly<Record<string, number>>;
};
const beside = 'checkpoint';

const keyedPartitions = ['scratch', 'artifacts', 'diagnostics'] as const;
type Names = Pick<Checkpoint, 'id' | 'graphId' | 'runId' | 'nodeId' | 'timestamp'>;

/** Makes the initial state of a run, before anything was saved. */
function beginTree(writer: TreeWriter): void {
  writer.set(['status'], 'paused');
  writer.set(['graphHash'], '');
  writer.set(['waits'], {});
  const channels = { ...Object.fromEntries(keyedPartitions.map((name) => [name, {}])), [beside]: {} };
  writer.set(['frame'], { input: null, channels, nodes: {} });
}

/** Changes the state to that of a checkpoint. @param saved - plain JSON. @throws USAGE_INVALID a partition is not an object */
function saveIntoTree(writer: TreeWriter, { state, nodeResults, ...saved }: Checkpoint): void {
  setState(writer, state);
  const results = Object.entries(nodeResults);
  const done = new Set(saved.visitedNodes);
  const nodes = results.map(([id, { output }]): readonly [string, NodeRecord] => [
    id,
    { status: done.has(id) ? 'completed' : 'started', ...(output !== undefined && { output }), fired: [] },
  ]);
  const skipped = (saved.skippedNodes ?? []).map((id) => [id, { status: 'skipped', fired: [] }] as const);
  writeDifference(writer, ['frame', 'nodes'], Object.fromEntries([...skipped, ...nodes]));
  const rest: Beside = {
    visitedNodes: saved.visitedNodes,
    ...(saved.skippedNodes && { skippedNodes: saved.skippedNodes }),
    pendingEdges: saved.pendingEdges,
    ...(saved.memorySnapshot && { memorySnapshot: saved.memorySnapshot }),
    effects: Object.fromEntries(results.map(([id, { effectClass }]) => [id, effectClass])),
    durations: Object.fromEntries(results.map(([id, { durationMs }]) => [id, durationMs])),
  };
  writeDifference(writer, ['frame', 'channels', beside], rest);
}

/** Replaces partitions, each of them whole. */
function patchTree(writer: TreeWriter, patch: Partial<GraphState>): void {
  setState(writer, { ...stateIn(writer.root), ...patch });
}

function checkpointIn({ frame }: RunTree, names: Names): Checkpoint {
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
  writeDifference(writer, ['frame', 'input'], state.input ?? null);
  for (const name of keyedPartitions) {
    const values = state[name] ?? {};
    if (!isPlainObject(values))
      throw new CairnError('USAGE_INVALID', {
        reason: `state.${name} of the checkpoint is no object`,
        hint: 'Give its values names.',
      });
    writeDifference(writer, ['frame', 'channels', name], values);
  }
}

/** Where a checkpoint is stored: its run, and the tag that it has there. */
interface Found {
  readonly run: RunRow;
  readonly tag: TagRow;
}

class CheckpointStoreOver<Saved extends Checkpoint> implements ICheckpointStore<Saved> {
  readonly #place: WritePlace;
  readonly #store: Store;
  /** For each run, its last save. Saves of a run are made one after another. */
  readonly #saving = new Map<string, Promise<void>>();
  /** For each checkpoint id, the run in which it was last found. */
  readonly #runs = new Map<string, string>();

  constructor(place: WritePlace) {
    this.#place = place;
    this.#store = place.store;
  }

  async save(checkpoint: Saved): Promise<void> {
    checkTagName(checkpoint.id);
    // Copied, so that later changes by the caller do not affect this checkpoint.
    const saved = JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;
    const before = this.#saving.get(saved.runId) ?? Promise.resolve();
    const saving = before.catch(() => undefined).then(() => this.#save(saved));
    this.#saving.set(saved.runId, saving);
    await saving.finally(() => {
      if (this.#saving.get(saved.runId) === saving) this.#saving.delete(saved.runId);
    });
  }

  async #save(saved: Checkpoint): Promise<void> {
    const run = await this.#store.readRun({ tenant: this.#place.tenant, runId: saved.runId });
    if (run === undefined) {
      checkNewRunId(saved.runId);
      const writer = new TreeWriter({} as RunTree);
      beginTree(writer);
      saveIntoTree(writer, saved);
      const change = [{ kind: 'start' }, describeSave(saved)] as const;
      return this.#admit(saved, { seq: 0, checksum: rootChecksum, change, writer });
    }
    await withClaim(this.#place, run, async (claim, { key, head, tenant, runId }) => {
      const loaded = await loadState(this.#store, this.#place.blobs, run, head);
      const writer = new TreeWriter(loaded.root);
      saveIntoTree(writer, saved);
      const seq = head + 1;
      const change = JSON.stringify([describeSave(saved)]);
      const row = encodeCheckpoint({ runKey: key, seq }, loaded.checksum, saved.timestamp, change, writer.delta.take());
      const { durability } = this.#store.capabilities;
      await this.#store.commit({ claim, checkpoint: { seq, at: saved.timestamp, ...row }, durability });
      await this.#store.tagCheckpoint({ tenant, runId }, { name: saved.id, seq });
      await writeDueSnapshot(this.#place, { ...run, head: seq }, loaded.cost, row.body.byteLength);
    });
  }

  /** Begins a run here with its first checkpoint: the first that is saved of a run, or that of a fork. */
  async #admit(
    { id, runId, graphId, timestamp: at }: Pick<Checkpoint, 'id' | 'runId' | 'graphId' | 'timestamp'>,
    first: {
      readonly seq: number;
      readonly checksum: Uint8Array;
      readonly change: Change;
      readonly writer: TreeWriter;
    },
    parent?: RunRow['parent'],
  ): Promise<void> {
    const { tenant } = this.#place;
    const key = runKeyOf(tenant, runId);
    const { seq, checksum, change, writer } = first;
    const row = encodeCheckpoint({ runKey: key, seq }, checksum, at, JSON.stringify(change), writer.delta.take());
    const reply = await this.#store.admitRun({
      tenant,
      runId,
      key,
      graphId,
      graphHash: '',
      status: 'paused',
      meta: new Uint8Array(),
      blobs: [],
      checkpoint: { seq, at, ...row },
      waits: [],
      ...(parent && { parent }),
      durability: this.#store.capabilities.durability,
    });
    if (!reply.created) throw new CairnError('RUN_EXISTS', { runId, difference: 'history' });
    await this.#store.tagCheckpoint({ tenant, runId }, { name: id, seq });
  }

  async get(checkpointId: string): Promise<Saved | null> {
    const found = await this.#find(checkpointId);
    return found === undefined ? null : this.#read(found);
  }

  async load(runId: string, nodeId?: string): Promise<Saved | null> {
    const run = await this.#store.readRun({ tenant: this.#place.tenant, runId });
    if (run === undefined) return null;
    for (const tag of await this.#savedOf(run))
      if (nodeId === undefined || (await this.#describe({ run, tag })).nodeId === nodeId)
        return this.#read({ run, tag });
    return null;
  }

  latest(runId: string): Promise<Saved | null> {
    return this.load(runId);
  }

  async list(
    graphId: string,
    { limit = 0, runId }: { readonly limit?: number; readonly runId?: string } = {},
  ): Promise<CheckpointMetadata[]> {
    const listed: CheckpointMetadata[] = [];
    const most = limit > 0 ? limit : undefined;
    for await (const run of readAllRuns(this.#place, { graphId })) {
      if (runId !== undefined && run.runId !== runId) continue;
      for (const tag of (await this.#savedOf(run)).slice(0, most)) listed.push(await this.#describe({ run, tag }));
    }
    return listed.sort((a, b) => b.timestamp - a.timestamp).slice(0, most);
  }

  /**
   * Removes the tag. If it was the newest remaining checkpoint, its values stay in the history until the run is pruned or another
   * checkpoint is saved.
   */
  async delete(checkpointId: string): Promise<void> {
    const found = await this.#find(checkpointId);
    if (found === undefined) return;
    const { run, tag } = found;
    await this.#store.removeTag(run, tag.name);
    const rest = await this.#savedOf(run);
    const isNeeded = (error: unknown): void => {
      if (!CairnError.is(error) || !['CHECKPOINT_NEEDED', 'HISTORY_HAS_FORKS'].includes(error.code)) throw error;
    };
    if (rest.length === 0) await removeRun(this.#place, run.runId, { forget: true }).catch(isNeeded);
    else if (tag.seq < run.head) await removeCheckpoint(this.#place, { run, seq: tag.seq }).catch(isNeeded);
  }

  /**
   * Copies a checkpoint under a new run id. Each partition in the patch replaces that of the checkpoint, whole. @throws
   * CHECKPOINT_NOT_FOUND
   */
  async fork(checkpointId: string, patchState: Partial<GraphState> = {}): Promise<string> {
    const found = await this.#find(checkpointId);
    if (found === undefined) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId });
    const { run, tag } = found;
    const { root, checksum } = await loadState(this.#store, this.#place.blobs, run, tag.seq);
    const writer = new TreeWriter(root);
    patchTree(writer, JSON.parse(JSON.stringify(patchState)) as Partial<GraphState>);
    const { nodeId, timestamp, graphId } = await this.#describe(found);
    const names = { id: randomUUID(), runId: randomUUID(), graphId, timestamp: Math.max(this.#place.now(), timestamp) };
    const parent = { runId: (await readOwner(this.#store, run, tag.seq)).runId, seq: tag.seq };
    const change = [
      { kind: 'fork', from: parent, detail: { set: Object.keys(patchState) } },
      describeSave(checkpointIn(root, { ...names, nodeId })),
    ] as const;
    await this.#admit(names, { seq: tag.seq + 1, checksum, change, writer }, parent);
    return names.runId;
  }

  /** Finds a checkpoint: first where it was last found, then in every run. */
  async #find(checkpointId: string): Promise<Found | undefined> {
    const runId = this.#runs.get(checkpointId);
    const known = runId === undefined ? undefined : await this.#store.readRun({ tenant: this.#place.tenant, runId });
    const found = known && (await this.#findIn(known, checkpointId));
    if (found !== undefined) return found;
    for await (const run of readAllRuns(this.#place)) {
      const there = await this.#findIn(run, checkpointId);
      if (there === undefined) continue;
      this.#runs.set(checkpointId, run.runId);
      return there;
    }
    return undefined;
  }

  async #findIn(run: RunRow, checkpointId: string): Promise<Found | undefined> {
    const tag = (await this.#store.readTags(run)).find(({ name }) => name === checkpointId);
    return tag && { run, tag };
  }

  /** The checkpoints of a run that were saved and not deleted, newest first. */
  async #savedOf(run: RunRow): Promise<readonly TagRow[]> {
    return [...(await readUserTags(this.#store, run))].sort((a, b) => b.seq - a.seq);
  }

  async #describe({ run, tag: { name, seq } }: Found): Promise<CheckpointMetadata> {
    const [row] = await this.#store.readCheckpoints(run, { from: seq, to: seq });
    if (row === undefined) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: name });
    const { change } = decodeCheckpoint({ runKey: run.key, seq }, undefined, row);
    const { node, detail } = change.findLast(({ kind }) => kind === 'save') ?? { node: undefined, detail: undefined };
    const { stateSize = 0, hasMemorySnapshot = false } = (detail ?? {}) as Partial<CheckpointMetadata>;
    const { graphId, runId } = run;
    return { id: name, graphId, runId, nodeId: node?.[0] ?? '', timestamp: row.at, stateSize, hasMemorySnapshot };
  }

  async #read(found: Found): Promise<Saved> {
    const { id, graphId, runId, nodeId, timestamp } = await this.#describe(found);
    const { root } = await loadState(this.#store, this.#place.blobs, found.run, found.tag.seq);
    return checkpointIn(root, { id, graphId, runId, nodeId, timestamp }) as Saved;
  }
}

function describeSave({ nodeId, state, memorySnapshot }: Checkpoint): ChangePart {
  const detail = { stateSize: JSON.stringify(state).length, hasMemorySnapshot: memorySnapshot !== undefined };
  return { kind: 'save', node: [nodeId], detail };
}

/**
 * Makes a checkpoint store that keeps its checkpoints in one of our stores, for a runtime that needs an `ICheckpointStore`. Checkpoints
 * must be plain JSON, and two processes must not save to one run at the same time.
 *
 * @typeParam Saved - the runtime's type of checkpoints; they are returned as they were saved
 * @throws CONFIG_INVALID the store is of another kind than ours and there is no blob store. The methods throw CLAIM_TAKEN if another
 * process saves to the run; ID_INVALID if the checkpoint's id contains `@`, `~` or a dot, or is a number; USAGE_INVALID; and the errors of
 * stores
 */
export function checkpointStoreOver<Saved extends Checkpoint = Checkpoint>(
  store: Store,
  options: HistoryOptions = {},
): ICheckpointStore<Saved> {
  refuseUnknownKeys('checkpointStoreOver', options, historyOptionNames);
  return new CheckpointStoreOver<Saved>(openPlace(store, options));
}
