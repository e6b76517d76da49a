/**
 * A store in memory that saves each checkpoint whole in a checkpoint store of the user's, and reads a run back from there when it is asked
 * for one that it does not have. A commit is acknowledged when its checkpoint is saved, so no effect begins before its intent is.
 */
import type { EngineOptions, Engine, Patch } from '../../engine/api.ts';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import { loadState } from '../../history/load/load.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Checkpoint, CheckpointKeeper } from '../../ports/checkpoint-store.ts';
import type { RunKey, RunRow, Store } from '../../ports/store.ts';
import { describeCheckpoint } from './describe-checkpoint.ts';
import { patchesOf } from './checkpoint-patches.ts';

const workerId = 'checkpoint-store';

/** A run's history as it was saved with a checkpoint, and what names it there. */
interface SavedHistory {
  readonly runId: string;
  readonly head: number;
  readonly text: string;
}

/** Saves the checkpoints of the runs of a store, and brings runs back from where they are saved. */
class SavedRuns {
  readonly #store: Store;
  readonly #blobs: BlobStore;
  readonly #keeper: CheckpointKeeper;
  readonly #findGraph: EngineOptions['findGraph'];
  /** The newest saved of each run that goes on here, once its save has ended: saves of a run are in order. */
  readonly #saved = new Map<string, Promise<Checkpoint | undefined>>();
  readonly #restoring = new Set<string>();
  engine: Engine | undefined;

  constructor(store: Store, blobs: BlobStore, keeper: CheckpointKeeper, findGraph: EngineOptions['findGraph']) {
    this.#store = store;
    this.#blobs = blobs;
    this.#keeper = keeper;
    this.#findGraph = findGraph;
  }

  /** @throws STORE_UNAVAILABLE the checkpoint store refused it; the same commit may be made again */
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
    const { exportRun } = await import('../../history/move/export.ts');
    let history = '';
    for await (const line of exportRun(this.#store, this.#blobs, run, { upTo: seq })) history += line;
    const checkpoint = describeCheckpoint({ run, row, root, graph, before, history });
    await this.#keeper.save(checkpoint).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw new CairnError('STORE_UNAVAILABLE', { store: 'checkpointStore', reason }, { cause: error });
    });
    return checkpoint;
  }

  async #graphOf({ graphId, graphHash }: RunRow): Promise<Graph | undefined> {
    return this.#findGraph?.(graphId, graphHash, {}, () => Promise.resolve(undefined));
  }

  /**
   * Brings back the run of this id, or that of the checkpoint of this id.
   * @returns the run's id; undefined: nothing of the name is saved
   */
  async restore(tenant: string, name: string): Promise<string | undefined> {
    if (this.#restoring.has(name)) return undefined;
    this.#restoring.add(name);
    try {
      const named = (await this.#keeper.latest(name)) ?? (await this.#keeper.get?.(name)) ?? undefined;
      if (named === undefined) return undefined;
      // A run goes on from its newest checkpoint; whoever names an older one forks.
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
    const history = historyOf(checkpoint);
    const original = { tenant, runId: history.runId };
    if ((await this.#store.readRun(original)) === undefined) await this.#import(tenant, history.text);
    if (history.runId === runId) return;
    // The checkpoint store forked it: the same fork here, with the values that were changed there.
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
    const { importRun } = await import('../../history/move/import.ts');
    await importRun(this.#store, this.#blobs, lines(), { tenant, as: 'move', workerId });
  }
}

/** @throws CHECKPOINT_CORRUPT the store gave it back without the history that was saved with it */
function historyOf({ id, history = '' }: Checkpoint): SavedHistory {
  try {
    const { runId, head } = JSON.parse(history.slice(0, history.indexOf('\n'))) as SavedHistory;
    return { runId, head, text: history };
  } catch (error) {
    throw new CairnError('CHECKPOINT_CORRUPT', { checkpoint: id, reason: 'it holds no history' }, { cause: error });
  }
}

/** What is made of a checkpoint store: a store for an engine, which is then told of that engine. */
export interface CheckpointBackedStore {
  readonly store: Store;
  serve(engine: Engine): void;
}

/** @param memory - holds the runs while they go on here */
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
    // A checkpoint's id that begins with its run's key is resolved as such; any other stands for its run.
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
