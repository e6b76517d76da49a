/**
 * Threads of LangGraph as families of runs. Checkpoints that follow one another are checkpoints of one run. One that is put under an older
 * one is the first of a fork, which has its line up to there as its own past.
 */
import { CairnError } from '../errors.ts';
import type { WritePlace } from '../history/access/place.ts';
import { readAllRuns } from '../history/access/read-all.ts';
import { loadState, type LoadedState } from '../history/load/load.ts';
import { removeRun } from '../history/retention/remove-run.ts';
import type { ChangePart } from '../history/stored/change.ts';
import { encodeCheckpoint, rootChecksum, runKeyOf } from '../history/stored/checkpoint.ts';
import { namedByMeta } from '../history/stored/named-blobs.ts';
import { checkNewRunId } from '../history/stored/run-ids.ts';
import { metaOf } from '../history/stored/stored-meta.ts';
import type { Labels, RunRow } from '../ports/store.ts';
import { TreeWriter } from '../state/tree-writer.ts';
import type { RunTree } from '../state/tree.ts';
import { hashText } from '../state/values/canonical-text.ts';
import { describeEntry, ThreadRun } from './thread-run.ts';
import {
  beginTree,
  checkpointIn,
  putCheckpoint,
  putWrites,
  writesIn,
  type StoredCheckpoint,
  type TaskWrites,
} from './thread-tree.ts';

/** Id of the graph of all runs of threads. */
const threadGraphId = 'langgraph';

/** One namespace of a thread: the thread itself, or a subgraph in it. */
export interface ThreadName {
  readonly thread: string;
  readonly namespace: string;
}

const expectedMax = 10_000;
const nothing = {
  seq: -1,
  checksum: rootChecksum,
  cost: { deltaBytes: 0, rows: 0, ownCost: 0, stateBytes: 0, snapshotSeq: undefined },
};

export class Threads {
  readonly #place: WritePlace;
  /** By thread and namespace, the runs of each by id. */
  readonly #runs = new Map<string, Map<string, ThreadRun>>();
  /** By thread and namespace, the last write. Those of a namespace are made one after another. */
  readonly #writing = new Map<string, Promise<unknown>>();
  /** Checkpoints that somebody here took for the newest, or put. If they are no longer, somebody else went on from them. */
  readonly #expected = new Set<string>();

  constructor(place: WritePlace) {
    this.#place = place;
  }

  /** Ids of all checkpoints of a namespace, newest first. */
  async listIds(name: ThreadName): Promise<readonly string[]> {
    const runs = await this.#refresh(name);
    const ids = new Set(runs.flatMap(({ entries }) => entries.flatMap(({ put }) => put ?? [])));
    return [...ids].sort().reverse();
  }

  /** The namespaces of a thread, or of all threads, newest first. */
  async listNames(name: Partial<ThreadName>): Promise<readonly ThreadName[]> {
    const names = new Map<string, ThreadName>();
    for await (const run of readAllRuns(this.#place, { graphId: threadGraphId, labels: labelsOf(name) })) {
      const found = nameOf(run);
      if (name.namespace === undefined || name.namespace === found.namespace) names.set(keyOf(found), found);
    }
    return [...names.values()];
  }

  /** The newest checkpoint. Who asks for it is about to go on from it. */
  async readNewest(name: ThreadName): Promise<StoredCheckpoint | undefined> {
    const [newest] = await this.listIds(name);
    this.#expect(name, newest ?? '');
    return newest === undefined ? undefined : this.#read(name, newest);
  }

  /** The checkpoint with this id. Who names it may go on from it, wherever it stands. */
  async read(name: ThreadName, id: string): Promise<StoredCheckpoint | undefined> {
    this.#expected.delete(keyOf(name, id));
    await this.#refresh(name);
    return this.#read(name, id);
  }

  /** All writes to a checkpoint, as of the last time that one of its namespace was read. */
  async readWrites(name: ThreadName, id: string): Promise<TaskWrites> {
    const found: Record<string, TaskWrites[string]> = {};
    for (const run of this.#runs.get(keyOf(name))?.values() ?? [])
      for (const seq of run.seqsOfWrites(id)) {
        const { root } = await run.stateAt(seq);
        for (const [task, writes] of Object.entries(writesIn(root, id))) found[task] = { ...found[task], ...writes };
      }
    return found;
  }

  /**
   * Adds a checkpoint after its parent: to the parent's run if nothing follows it, or else as a fork.
   * @throws COMMIT_CONFLICT another writer went on from there meanwhile; CLAIM_TAKEN another writer is writing just now
   */
  put(name: ThreadName, label: string, make: (parent?: StoredCheckpoint) => StoredCheckpoint): Promise<void> {
    return this.#inOrder(name, async () => {
      const { id, parent } = make();
      const part = describeEntry(label, { put: id });
      const edit = (writer: TreeWriter): void => {
        putCheckpoint(writer, make(parent === undefined ? undefined : checkpointIn(writer.root)));
      };
      const run = await this.#runAt(name, parent, id);
      if (run !== undefined) await run.append(part, run.newest, edit);
      else await this.#begin(name, part, { id, ...(parent !== undefined && { parent }) }, edit);
      this.#expect(name, id);
    });
  }

  /** Adds writes of a task to a checkpoint. They may come before it. */
  putWrites(name: ThreadName, id: string, task: string, label: string, writes: TaskWrites[string]): Promise<void> {
    return this.#inOrder(name, async () => {
      const part = describeEntry(label, { writes: id });
      const edit = (writer: TreeWriter): void => putWrites(writer, id, task, writes);
      const [newest] = this.#find(name, id) === undefined ? await this.#refresh(name) : [];
      const run = this.#find(name, id) ?? newest;
      if (run !== undefined) await run.append(part, undefined, edit);
      else await this.#begin(name, part, { id }, edit);
    });
  }

  /** Removes all runs of a thread. */
  async remove(thread: string): Promise<void> {
    const runIds: string[] = [];
    for await (const run of readAllRuns(this.#place, { graphId: threadGraphId, labels: labelsOf({ thread }) }))
      if (run.parent === undefined && nameOf(run).thread === thread) runIds.push(run.runId);
    for (const runId of runIds) await removeRun(this.#place, runId, { withForks: true, forget: true });
    const prefix = `${JSON.stringify([thread]).slice(0, -1)},`;
    for (const known of [this.#runs, this.#expected])
      for (const key of known.keys()) if (key.startsWith(prefix)) known.delete(key);
  }

  async #read(name: ThreadName, id: string): Promise<StoredCheckpoint | undefined> {
    const run = this.#find(name, id);
    const seq = run?.entries.findLast(({ put }) => put === id)?.seq;
    return run === undefined || seq === undefined ? undefined : checkpointIn((await run.stateAt(seq)).root);
  }

  /** The run that a checkpoint is added to; undefined: it begins one. */
  async #runAt(name: ThreadName, parent: string | undefined, id: string): Promise<ThreadRun | undefined> {
    const isEnd = (run: ThreadRun | undefined): boolean =>
      run !== undefined && (run.newest === parent || run.newest === id);
    const known = this.#find(name, parent ?? id);
    if (isEnd(known)) return known;
    const runs = await this.#refresh(name);
    const run = this.#find(name, id) ?? (parent === undefined ? undefined : this.#find(name, parent));
    if (isEnd(run)) return run;
    const next = parent === undefined ? runs.find(({ newest }) => newest !== undefined) : run;
    if (next !== undefined && this.#expected.has(keyOf(name, parent ?? '')))
      throw new CairnError('COMMIT_CONFLICT', { runId: next.run.runId, seq: id, head: next.newest });
    return run === undefined ? runs.find(({ newest }) => newest === undefined) : undefined;
  }

  /** Begins a run: the first of its namespace, another beginning of it, or a fork from the parent. */
  async #begin(
    name: ThreadName,
    part: ChangePart,
    { id, parent }: { readonly id: string; readonly parent?: string },
    edit: (writer: TreeWriter) => void,
  ): Promise<void> {
    const { tenant, store, now } = this.#place;
    const known = this.#runs.get(keyOf(name));
    const runId = runIdOf(name, known === undefined || known.size === 0 ? undefined : id);
    const from = parent === undefined ? undefined : await this.#forkPoint(name, parent);
    const loaded = from?.loaded ?? { ...nothing, root: {} as RunTree };
    const writer = new TreeWriter(loaded.root);
    if (from === undefined) beginTree(writer);
    edit(writer);
    const seq = from === undefined ? 0 : from.at.seq + 1;
    const at = now();
    const key = runKeyOf(tenant, runId);
    const cause: ChangePart = from === undefined ? { kind: 'start' } : { kind: 'fork', from: from.at };
    const change = JSON.stringify([cause, part]);
    const row = encodeCheckpoint({ runKey: key, seq }, loaded.checksum, at, change, writer.delta.take());
    const labels = labelsOf(name);
    const meta = new TextEncoder().encode(
      JSON.stringify({ labels, fixedLabels: Object.keys(labels), langgraph: name }),
    );
    const { created, run } = await store.admitRun({
      ...namedByMeta(meta),
      tenant,
      runId,
      key,
      graphId: threadGraphId,
      graphHash: '',
      status: 'paused',
      meta,
      labels,
      waits: [],
      checkpoint: { seq, at, ...row },
      ...(from && { parent: from.at }),
      durability: store.capabilities.durability,
    });
    if (!created) throw refusalOf(run);
    const begun = new ThreadRun(this.#place, run);
    begun.begun(part, row.checksum, loaded);
    const runs = this.#runs.get(keyOf(name)) ?? new Map<string, ThreadRun>();
    this.#runs.set(keyOf(name), runs.set(runId, begun));
  }

  /** Where a fork from a checkpoint begins: behind its last writes. */
  async #forkPoint(
    name: ThreadName,
    parent: string,
  ): Promise<
    { readonly at: { readonly runId: string; readonly seq: number }; readonly loaded: LoadedState } | undefined
  > {
    const run = this.#find(name, parent);
    const seq = run?.lastSeqOf(parent);
    if (run === undefined || seq === undefined) return undefined;
    const loaded = await loadState(this.#place.store, this.#place.blobs, run.run, seq);
    return { at: { runId: run.run.runId, seq }, loaded };
  }

  /** Reads what other processes have written. @returns the runs, newest first */
  async #refresh(name: ThreadName): Promise<readonly ThreadRun[]> {
    const found: ThreadRun[] = [];
    const known = this.#runs.get(keyOf(name));
    const there = new Map<string, ThreadRun>();
    for await (const row of readAllRuns(this.#place, { graphId: threadGraphId, labels: labelsOf(name) })) {
      const { thread, namespace } = nameOf(row);
      if (thread !== name.thread || namespace !== name.namespace) continue;
      const run = known?.get(row.runId) ?? new ThreadRun(this.#place, row);
      await run.refresh(row);
      there.set(row.runId, run);
      found.push(run);
    }
    this.#runs.set(keyOf(name), there);
    return found;
  }

  #find(name: ThreadName, id: string): ThreadRun | undefined {
    for (const run of this.#runs.get(keyOf(name))?.values() ?? [])
      if (run.entries.some(({ put }) => put === id)) return run;
    return undefined;
  }

  #expect(name: ThreadName, id: string): void {
    const key = keyOf(name, id);
    this.#expected.delete(key);
    this.#expected.add(key);
    const [oldest] = this.#expected;
    if (this.#expected.size > expectedMax && oldest !== undefined) this.#expected.delete(oldest);
  }

  async #inOrder(name: ThreadName, write: () => Promise<void>): Promise<void> {
    const key = keyOf(name);
    const before = this.#writing.get(key) ?? Promise.resolve();
    const writing = before.catch(() => undefined).then(write);
    this.#writing.set(key, writing);
    await writing.finally(() => {
      if (this.#writing.get(key) === writing) this.#writing.delete(key);
    });
  }
}

const keyOf = ({ thread, namespace }: ThreadName, ...id: readonly string[]): string =>
  JSON.stringify([thread, namespace, ...id]);

const labelMax = 200;

/** By which runs are found. A long name is found by its hash. */
function labelsOf({ thread, namespace }: Partial<ThreadName>): Labels {
  const labelOf = (text: string): string => (text.length > labelMax ? hashText(text) : text);
  return {
    ...(thread !== undefined && { thread_id: labelOf(thread) }),
    ...(namespace !== undefined && { checkpoint_ns: labelOf(namespace) }),
  };
}

function nameOf(run: RunRow): ThreadName {
  return (metaOf(run) as { readonly langgraph: ThreadName }).langgraph;
}

const longestPrefix = 150;

/** A thread's first run has the id of the thread, where that can be one. @param first - the checkpoint that begins another run of it */
function runIdOf({ thread, namespace }: ThreadName, first: string | undefined): string {
  const prefix = isRunId(thread) ? thread : `thread-${hashText(thread).slice(0, 16)}`;
  if (namespace === '' && first === undefined) return prefix;
  return `${prefix}:${hashText(JSON.stringify([namespace, first])).slice(0, 16)}`;
}

function isRunId(thread: string): boolean {
  try {
    checkNewRunId(thread);
    return thread.length <= longestPrefix;
  } catch {
    return false;
  }
}

/** The error for a run that was to be begun and is there: another writer's, or one that is no thread. */
function refusalOf({ runId, graphId, head }: RunRow): CairnError {
  return graphId === threadGraphId
    ? new CairnError('COMMIT_CONFLICT', { runId, seq: 0, head })
    : new CairnError('RUN_EXISTS', { runId, difference: 'graph' });
}
