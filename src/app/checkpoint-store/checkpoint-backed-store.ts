/**
 * A store in memory that saves each checkpoint whole in the user's checkpoint store, and reads a run back from there if it does not have
 * it. A commit is acknowledged after its checkpoint is saved, so no effect begins before its intent is saved.
 */
import { START, type Graph } from '../../graph/graph.ts';
import { checkpointId, decodeCheckpoint } from '../../history/stored/checkpoint.ts';
import { durationsOf, nodeOf, positionsOf, resultOfNode } from '../../engine/watch/progress.ts';
import { viewState } from '../../history/read/checkpoint-view.ts';
import type { Checkpoint, GraphState, CheckpointKeeper, MemorySnapshot } from '../../ports/checkpoint-store.ts';
import type { CheckpointRow, RunRow, RunKey, Store } from '../../ports/store.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { FrameTree, RunTree } from '../../state/tree.ts';
import type { Patch, EngineOptions, Engine } from '../../engine/api.ts';
import { CairnError, maybeWritten, reasonOf } from '../../errors.ts';
import { loadState } from '../../history/load/load.ts';
import type { BlobStore } from '../../ports/blobs.ts';

// Converts a checkpoint of a run to the format of checkpoint stores.

/** A value as plain JSON, which is all that a checkpoint store may contain. */
function plain(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(encodeValue(value)) as unknown);
}

interface RecalledEntry {
  readonly content: string;
  readonly at: number;
}

const isRecalled = (output: unknown): output is readonly RecalledEntry[] =>
  Array.isArray(output) && output.every((entry) => typeof entry?.content === 'string' && typeof entry.at === 'number');

/**
 * What the run has read of its memories: the steps `recall` of a session memory, of nodes that are open and, from the checkpoint before, of
 * those that have settled since. Nothing is ever about to be written: a write is made at once, and by its key only once.
 */
function memorySnapshotOf(frame: FrameTree, before: MemorySnapshot | undefined): MemorySnapshot | undefined {
  const reads = new Map([...(before?.reads ?? []), ...readsIn(frame)].map((read) => [read.traceId, read]));
  return reads.size === 0 ? undefined : { reads: [...reads.values()], pendingWrites: [] };
}

function readsIn({ nodes }: FrameTree): MemorySnapshot['reads'] {
  return Object.entries(nodes).flatMap(([id, { steps = {}, children = {} }]): MemorySnapshot['reads'] => [
    ...Object.entries(steps).flatMap(([key, { status, output }]) => {
      if (status !== 'done' || !/ recall(?:\W|$)/u.test(key) || !isRecalled(output)) return [];
      return output.map(({ content }, index) => ({ traceId: `${id}/${key}/${index}`, content, strength: 1 }));
    }),
    ...Object.values(children).flatMap(readsIn),
  ]);
}

interface Described {
  readonly run: RunRow;
  readonly row: CheckpointRow;
  readonly root: RunTree;
  readonly graph: Graph | undefined;
  /** The checkpoint saved before. It knows the durations of nodes that had completed by then. */
  readonly before: Checkpoint | undefined;
  readonly history: string;
}

/** Describes a run at one of its checkpoints. */
function describeCheckpoint({ run, row, root, graph, before, history }: Described): Checkpoint {
  const { input, scratch, artifacts, diagnostics, outputs } = viewState(root).state;
  const { change } = decodeCheckpoint({ runKey: run.key, seq: row.seq }, undefined, row);
  const durations = new Map(durationsOf(change));
  const positions = positionsOf(root, graph);
  const results = positions.visitedNodes.map((id) => {
    const durationMs = durations.get(id) ?? before?.nodeResults[id]?.durationMs;
    return [id, resultOfNode(graph, id, plain(outputs[id]), durationMs)] as const;
  });
  const memorySnapshot = memorySnapshotOf(root.frame, before?.memorySnapshot);
  return {
    id: checkpointId(run.key, row.seq),
    graphId: run.graphId,
    runId: run.runId,
    nodeId: nodeOf(change) ?? before?.nodeId ?? START,
    timestamp: row.at,
    state: {
      input: plain(input),
      scratch: plain(scratch),
      artifacts: plain(artifacts),
      diagnostics: plain(diagnostics),
    },
    ...(memorySnapshot !== undefined && { memorySnapshot }),
    nodeResults: Object.fromEntries(results),
    ...positions,
    history,
  };
}

// Turns the changes in a fork that a checkpoint store made into patches for a fork of ours.

const isKeyed = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** One patch for each value that differs from the run's, so that the fork runs with the state that the checkpoint store shows. */
function patchesOf(root: RunTree, wanted: GraphState): readonly Patch[] {
  const { state } = viewState(root);
  return (['input', 'scratch', 'artifacts', 'diagnostics'] as const).flatMap((partition): readonly Patch[] => {
    const before = plain(state[partition]);
    const after = wanted[partition];
    if (isSame(before, after)) return [];
    if (partition === 'input' || !isKeyed(before) || !isKeyed(after)) return [{ path: [partition], value: after }];
    const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
    return [
      ...removed.map((key) => ({ path: [partition, key], value: undefined, isRemoved: true as const })),
      ...Object.entries(after)
        .filter(([key, value]) => !isSame(before[key], value))
        .map(([key, value]) => ({ path: [partition, key], value })),
    ];
  });
}

const workerId = 'checkpoint-store';

/** A run's history as it was saved with a checkpoint. */
interface SavedHistory {
  readonly runId: string;
  readonly head: number;
  readonly text: string;
}

/** Saves checkpoints of runs to the checkpoint store, and restores runs from it. */
class SavedRuns {
  readonly #store: Store;
  readonly #blobs: BlobStore;
  readonly #keeper: CheckpointKeeper;
  readonly #findGraph: EngineOptions['findGraph'];
  /** For each run, its newest saved checkpoint, once that save has ended. Saves of a run are made in order. */
  readonly #saved = new Map<string, Promise<Checkpoint | undefined>>();
  readonly #restoring = new Set<string>();
  engine: Engine | undefined;

  constructor(store: Store, blobs: BlobStore, keeper: CheckpointKeeper, findGraph: EngineOptions['findGraph']) {
    this.#store = store;
    this.#blobs = blobs;
    this.#keeper = keeper;
    this.#findGraph = findGraph;
  }

  /** Saves a checkpoint. @throws STORE_UNAVAILABLE the checkpoint store refused it; the same commit may be repeated */
  async save(key: RunKey, seq: number): Promise<void> {
    const saving = (this.#saved.get(key.runId) ?? Promise.resolve(undefined)).then((before) =>
      this.#saveAfter(before, key, seq),
    );
    this.#saved.set(
      key.runId,
      saving.catch(() => undefined),
    );
    await saving;
  }

  async #saveAfter(before: Checkpoint | undefined, key: RunKey, seq: number): Promise<Checkpoint> {
    const run = await this.#store.readRun(key);
    const [row] = await this.#store.readCheckpoints(key, { from: seq, to: seq });
    if (run === undefined || row === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: key.runId });
    const { root } = await loadState(this.#store, this.#blobs, run, seq);
    const graph = await this.#graphOf(run);
    const { exportRun } = await import('../../history/export-import/export.ts');
    let history = '';
    for await (const line of exportRun(this.#store, this.#blobs, run, { upTo: seq })) history += line;
    const checkpoint = describeCheckpoint({ run, row, root, graph, before, history });
    await this.#keeper.save(checkpoint).catch((error: unknown) => {
      const reason = reasonOf(error);
      throw new CairnError(
        'STORE_UNAVAILABLE',
        { store: 'checkpointStore', reason, ...maybeWritten },
        { cause: error },
      );
    });
    return checkpoint;
  }

  async #graphOf({ graphId, graphHash }: RunRow): Promise<Graph | undefined> {
    return this.#findGraph?.(graphId, graphHash, {}, () => Promise.resolve(undefined));
  }

  /**
   * Restores a run by its id or the id of one of its checkpoints.
   * @returns the run's id; undefined if nothing is saved under this name
   */
  async restore(tenant: string, name: string): Promise<string | undefined> {
    if (this.#restoring.has(name)) return undefined;
    this.#restoring.add(name);
    try {
      const named = (await this.#keeper.latest(name)) ?? (await this.#keeper.get?.(name)) ?? undefined;
      if (named === undefined) return undefined;
      // A run is always restored at its newest checkpoint. To go on from an older one, fork it.
      const newest = named.runId === name ? named : ((await this.#keeper.latest(named.runId)) ?? named);
      await this.#bringBack(tenant, newest);
      return newest.runId;
    } finally {
      this.#restoring.delete(name);
    }
  }

  async #bringBack(tenant: string, checkpoint: Checkpoint): Promise<void> {
    const { runId } = checkpoint;
    if ((await this.#store.readRun({ tenant, runId })) !== undefined) return;
    this.#saved.set(runId, Promise.resolve(checkpoint));
    const history = historyOf(checkpoint);
    const original = { tenant, runId: history.runId };
    if ((await this.#store.readRun(original)) === undefined) await this.#import(tenant, history.text);
    if (history.runId === runId) return;
    // The checkpoint store made this fork. Make the same fork here, with the values that were changed there.
    const run = await this.#store.readRun(original);
    if (run === undefined) return;
    const { root } = await loadState(this.#store, this.#blobs, run, history.head);
    const set: readonly Patch[] = patchesOf(root, checkpoint.state);
    const graph = await this.#graphOf(run);
    await this.engine?.fork({ runId: history.runId, seq: history.head }, { runId, set, ...(graph && { graph }) });
  }

  async #import(tenant: string, text: string): Promise<void> {
    async function* lines(): AsyncGenerator<string> {
      yield await Promise.resolve(text);
    }
    const { importRun } = await import('../../history/export-import/import.ts');
    await importRun(this.#store, this.#blobs, lines(), { tenant, as: 'move', workerId });
  }
}

/**
 * Parses the history that was saved with a checkpoint. @throws CHECKPOINT_CORRUPT the checkpoint store returned the checkpoint without it
 */
function historyOf({ id, history = '' }: Checkpoint): SavedHistory {
  try {
    const { runId, head } = JSON.parse(history.slice(0, history.indexOf('\n'))) as SavedHistory;
    return { runId, head, text: history };
  } catch (error) {
    throw new CairnError('CHECKPOINT_CORRUPT', { checkpoint: id, reason: 'it holds no history' }, { cause: error });
  }
}

/** A store for an engine, made from a checkpoint store. The engine has to be passed to it afterwards. */
export interface CheckpointBackedStore {
  readonly store: Store;
  serve(engine: Engine): void;
}

/** Makes the store. @param memory - holds the runs while they are advanced here */
export function backByCheckpoints(
  memory: Store,
  blobs: BlobStore,
  keeper: CheckpointKeeper,
  findGraph: EngineOptions['findGraph'],
): CheckpointBackedStore {
  const saved = new SavedRuns(memory, blobs, keeper, findGraph);
  const readRun: Store['readRun'] = async (key) => {
    const run = await memory.readRun(key);
    if (run !== undefined) return run;
    const runId = await saved.restore(key.tenant, key.runId);
    if (runId === undefined) return undefined;
    const found = await memory.readRun({ tenant: key.tenant, runId });
    // The id of a checkpoint that begins with its run's key is resolved later as such; any other id stands for its run.
    return found !== undefined && key.runId.startsWith(`${found.key}.`) ? undefined : found;
  };
  const overrides: Partial<Store> = {
    readRun,
    async admitRun(admission) {
      await readRun(admission);
      const reply = await memory.admitRun(admission);
      if (reply.created) await saved.save(admission, admission.checkpoint.seq);
      return reply;
    },
    async commit(commit) {
      const reply = await memory.commit(commit);
      await saved.save(commit.claim, commit.checkpoint.seq);
      return reply;
    },
  };
  const store = new Proxy(memory, {
    get(target, name) {
      const value: unknown = Reflect.get(overrides, name) ?? Reflect.get(target, name);
      return typeof value === 'function' && !Object.hasOwn(overrides, name) ? (value.bind(target) as unknown) : value;
    },
  });
  return { store, serve: (engine) => void (saved.engine = engine) };
}
