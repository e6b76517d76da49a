/** The store in one SQLite file, over Node's built-in driver. */
import { blobsOfCommit, type BlobReferences } from '../../ports/blob-references.ts';
import type { EndedQuery, Removals } from '../../ports/removals.ts';
import type { RunKey, Admission, Commit, Durability, Message, MessageReply, Store } from '../../ports/store.ts';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { CairnError } from '../../errors.ts';
import { LabelWrites } from './tables/label-rows.ts';
import { CheckpointPlaces, MessageWrite, createPrepare, type Prepare } from './tables/run-rows.ts';
import { CommitWrite, type PendingCommit, HistoryWrites, RunHeads } from './tables/history-writes.ts';
import { HistoryReads } from './tables/history-reads.ts';
import { LimitReads, LimitWrites, type LimitParts } from './tables/limit-rows.ts';
import type { LimitStore } from '../../ports/limits.ts';
import { HostClock } from '../host-clock.ts';
import { Watchers, wakeUnparked } from '../watchers.ts';
import { sqliteRenewalSource } from './file/renewal.ts';
import { findDamage, openDatabase, readSpace, type OpenedDatabase, StoreIdentity } from './file/open-database.ts';
import { RunReads, WaitReads } from './tables/wait-reads.ts';
import { ReferenceReads, ReferenceWrites } from './tables/reference-rows.ts';
import { EndedRows, RemovedRows } from './tables/removals.ts';
import { RunWrites } from './tables/run-writes.ts';
import { WorkerRows } from './tables/workers.ts';
import { layoutVersion } from './tables/schema.ts';
import { openSqliteLiveFeed } from './sqlite-live-feed.ts';
import { mapSqliteError } from './sqlite-errors.ts';
import { checkOptions, type SqliteStoreOptions } from './sqlite-memories.ts';
import { WriteQueue } from './write-queue.ts';

// Counts the runs that are being advanced through a store, to decide whether a commit should wait for others.

class AdvancedRuns {
  readonly #keys = new Set<string>();

  add({ tenant, runId }: RunKey): void {
    this.#keys.add(`${tenant}\0${runId}`);
  }

  delete({ tenant, runId }: RunKey): void {
    this.#keys.delete(`${tenant}\0${runId}`);
  }

  /** Whether there is at most one. If this is wrong, it costs only speed. */
  get isOne(): boolean {
    return this.#keys.size <= 1;
  }
}

const copyBytes = (bytes: Uint8Array): Uint8Array => Buffer.from(bytes);
const copyBody = <Row extends { readonly body: Uint8Array; readonly checksum?: Uint8Array }>(row: Row): Row =>
  row.checksum === undefined ? { ...row, body: copyBytes(row.body) } : copyRow({ ...row, checksum: row.checksum });

/** Copies a checkpoint's or snapshot's bytes, because a write waits for its transaction and its caller may reuse them meanwhile. */
const copyRow = <Row extends { readonly body: Uint8Array; readonly checksum: Uint8Array }>(row: Row): Row => ({
  ...row,
  body: copyBytes(row.body),
  checksum: copyBytes(row.checksum),
});

const copyAdmission = (admission: Admission): Admission => ({
  ...admission,
  meta: copyBytes(admission.meta),
  checkpoint: copyRow(admission.checkpoint),
  waits: admission.waits.map(copyBody),
  ...(admission.labels && { labels: { ...admission.labels } }),
});

/** Copies a commit. Written out because it runs once for every node. */
function copyCommit(commit: Commit): PendingCommit {
  const { seq, at, body, checksum } = commit.checkpoint;
  return {
    claim: commit.claim,
    checkpoint: { seq, at, body: copyBytes(body), checksum: copyBytes(checksum) },
    status: commit.status,
    graphHash: commit.graphHash,
    code: commit.code,
    openWaits: commit.openWaits?.map(copyBody),
    closeWaits: commit.closeWaits?.slice(),
    takeMessages: commit.takeMessages?.slice(),
    releases: commit.releases,
    blobs: blobsOfCommit(commit)?.slice(),
  };
}

/**
 * Opens a store in a SQLite file. Several processes may have it open at the same time.
 *
 * Reads are made at once. Writes are collected until the event loop has turned, 128 are waiting, or they have 256 KiB, and then share a
 * transaction.
 *
 * @throws CONFIG_INVALID there is no path, or an option is unknown or invalid
 * @throws STORE_UNAVAILABLE, STORE_BUSY, STORE_CORRUPT, STORE_READ_ONLY, STORE_FULL
 * @throws STORE_VERSION_UNKNOWN the file was written by a newer version
 */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  checkOptions(options);
  const path = resolve(options.path);
  const name = `sqlite:${path}`;
  const { durability = 'default', readOnly: isReadOnly = false, busyTimeoutMs = 5000 } = options;
  const clock = new HostClock(options.now);
  const { walAutoCheckpointPages = 256, identity } = options;
  const opened = openDatabase({ path, store: name, isReadOnly, busyTimeoutMs, walAutoCheckpointPages, identity });
  const { db } = opened;
  const parts = createParts(db, clock, name);
  const { heads, places, references, commits } = parts;
  const queue = new WriteQueue({
    db,
    path,
    store: name,
    durability,
    busyTimeoutMs,
    copiesLog: walAutoCheckpointPages > 0,
    onBegin: () => places.beginTransaction(heads.beginTransaction()),
    onRollback: () => [heads, places, references].forEach((part) => part.forget()),
  });
  const live = openSqliteLiveFeed(path, Date.now);
  let isClosed = false;
  const watchers = new Watchers();
  const read = <Reply>(work: () => Reply): Promise<Reply> => {
    try {
      if (isClosed) throw new CairnError('STORE_CLOSED', { store: name });
      return Promise.resolve(work());
    } catch (error) {
      return Promise.reject(mapSqliteError(error, name));
    }
  };
  const write: Write = (work, durability, bytes, isAlone = false) => {
    if (isClosed) return Promise.reject(new CairnError('STORE_CLOSED', { store: name }));
    if (isReadOnly) return Promise.reject(new CairnError('STORE_READ_ONLY', { store: name }));
    return queue.enqueue(work, durability === 'power', bytes, isAlone);
  };
  const { references: naming, ...writes } = createWrites(db, clock, parts, write);
  const reads = createReads(opened, clock, name, read);
  return {
    name,
    capabilities: { durability: durability === 'normal' ? 'process' : 'power', isShared: true },
    live,
    limits: createLimits(db, { heads, commits, clock }, read, write, (key) => watchers.wake(key.tenant, key.runId)),
    ...reads.store,
    ...writes,
    removals: { ...writes.removals, read: reads.removed },
    ...(reads.references && { references: { ...reads.references, ...naming } }),
    ...wakingWrites(writes, watchers),
    watch: (tenant, wake) => watchBoth(db, watchers, tenant, wake),
    renewalSource: () =>
      options.now === undefined ? sqliteRenewalSource(path) : 'its clock is a function of the program',
    vacuum: async () => {
      if (isClosed) throw new CairnError('STORE_CLOSED', { store: name });
      if (isReadOnly) throw new CairnError('STORE_READ_ONLY', { store: name });
      await queue.vacuum();
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await queue.drain();
      live.close();
      db.close();
    },
  };
}

function createParts(db: DatabaseSync, clock: HostClock, store: string): WrittenParts {
  const heads = new RunHeads(createPrepare(db));
  const places = new CheckpointPlaces(createPrepare(db));
  const references = new ReferenceWrites(createPrepare(db), heads);
  const commits = new CommitWrite(createPrepare(db), heads, places, references, clock.now);
  return { heads, places, references, commits, store };
}

/** Hears of writes through this store, and of those of others to its file. */
function watchBoth(db: DatabaseSync, watchers: Watchers, tenant: string, wake: (runId?: string) => void): () => void {
  const stops = [watchers.add(tenant, wake), watchFile(db, () => watchers.wake(tenant))];
  return () => stops.forEach((stop) => stop());
}

/** The writes after which a run may have become claimable, which also notify those who watch. */
function wakingWrites(
  writes: Pick<Store, 'admitRun' | 'postMessage' | 'releaseClaim'>,
  watchers: Watchers,
): Pick<Store, 'admitRun' | 'postMessage' | 'releaseClaim'> {
  const wakeAfter = async <Reply>({ tenant, runId }: RunKey, written: Promise<Reply>): Promise<Reply> => {
    const reply = await written;
    watchers.wake(tenant, runId);
    return reply;
  };
  return {
    admitRun: (admission) => {
      const admitted = writes.admitRun(admission);
      return admission.claim === undefined ? wakeAfter({ ...admission }, admitted) : admitted;
    },
    postMessage: (message) => wakeAfter({ ...message }, writes.postMessage(message)),
    releaseClaim: (claim, refusedBy) => wakeAfter({ ...claim }, writes.releaseClaim(claim, refusedBy)),
  };
}

type Reads = Pick<
  Store,
  | 'readIdentity'
  | 'findDamage'
  | 'readSpace'
  | 'readRun'
  | 'findRuns'
  | 'listRuns'
  | 'readCheckpoints'
  | 'readSnapshot'
  | 'readMessages'
  | 'hasMessage'
  | 'listWaits'
  | 'readTags'
  | 'listWorkers'
  | 'countRuns'
  | 'countOpen'
  | 'countCodes'
  | 'ended'
>;

function createReads(
  { db, layout }: OpenedDatabase,
  clock: HostClock,
  name: string,
  read: <Reply>(work: () => Reply) => Promise<Reply>,
): {
  readonly store: Reads;
  readonly removed: Removals['read'];
  readonly references: ReferenceReading | undefined;
} {
  const prepare = createPrepare(db);
  const runs = new RunReads(prepare, clock, layout, name);
  const history = new HistoryReads(prepare);
  const waits = new WaitReads(prepare, layout);
  const identity = new StoreIdentity(prepare, layout);
  const workers = new WorkerRows(prepare, layout, clock.now);
  const ended = new EndedRows(prepare);
  const removed = new RemovedRows(prepare, clock.now);
  const store: Reads = {
    readIdentity: () => read(() => identity.read()),
    findDamage: () => read(() => [...findDamage(db), ...runs.findDamage()]),
    readSpace: () => read(() => readSpace(db)),
    readRun: (key) => read(() => runs.readRun(key)),
    findRuns: (tenant, prefix, limit) => read(() => runs.findRuns(tenant, prefix, limit)),
    listRuns: (query) => read(() => runs.listRuns(query)),
    readCheckpoints: (key, range) => read(() => history.readCheckpoints(key, range)),
    readSnapshot: (key, atOrBefore) => read(() => history.readSnapshot(key, atOrBefore)),
    readMessages: (key) => read(() => waits.readMessages(key)),
    hasMessage: (key, message) => read(() => waits.hasMessage(key, message)),
    listWaits: (query) => read(() => waits.listWaits(query)),
    readTags: (key) => read(() => history.readTags(key)),
    listWorkers: (tenant) => read(() => workers.list(tenant)),
    countRuns: (query) => read(() => runs.countRuns(query)),
    countOpen: (tenant) => read(() => runs.countOpen(tenant)),
    countCodes: (tenant, graphs) => read(() => runs.countCodes(tenant, graphs)),
    // A file of an older layout that is only read has no such index.
    ...(layout >= 11 && {
      ended: {
        graphs: (tenant: string) => read(() => ended.graphs(tenant)),
        list: (query: EndedQuery) => read(() => ended.list(query)),
      },
    }),
  };
  return {
    store,
    removed: (key) => read(() => removed.read(key)),
    // A file of an older layout that is only read has none.
    references: layout >= 13 ? createReferenceReads(prepare, read) : undefined,
  };
}

/** Queues a write. `isAlone`: no other run is advanced through this store, so there is nothing to share a transaction with. */
type Write = <Reply>(work: () => Reply, durability: Durability, bytes: number, isAlone?: boolean) => Promise<Reply>;

/** Which blobs runs name. */
type ReferenceReading = Pick<BlobReferences, 'named' | 'of' | 'listUnread' | 'defined'>;

function createReferenceReads(prepare: Prepare, read: <Reply>(work: () => Reply) => Promise<Reply>): ReferenceReading {
  const rows = new ReferenceReads(prepare);
  return {
    named: (tenant, hashes) => read(() => rows.named(tenant, hashes)),
    of: (tenant, runIds) => read(() => rows.of(tenant, runIds)),
    listUnread: (tenant, page) => read(() => rows.listUnread(tenant, page)),
    defined: (tenant, hashes) => read(() => rows.defined(tenant, hashes)),
  };
}

function createReferenceWrites(rows: ReferenceWrites, write: Write): Omit<BlobReferences, keyof ReferenceReading> {
  return {
    add: ({ tenant, runId }, hashes, read) => {
      const copy = structuredClone({ hashes, read });
      return write(() => rows.add({ tenant, runId }, copy.hashes, copy.read), 'process', 0);
    },
    drop: ({ tenant, runId }, source) => {
      const named = structuredClone(source);
      return write(() => rows.drop({ tenant, runId }, named), 'process', 0);
    },
    define: (tenant, graphId, source) => {
      const hashes = [...source];
      return write(() => rows.define(tenant, graphId, hashes), 'process', 0);
    },
  };
}

interface WrittenParts {
  readonly heads: RunHeads;
  readonly places: CheckpointPlaces;
  readonly commits: CommitWrite;
  readonly references: ReferenceWrites;
  readonly store: string;
}

function createWrites(
  db: DatabaseSync,
  clock: HostClock,
  { heads, places, commits, references, store }: WrittenParts,
  write: Write,
): Omit<Store, keyof Reads | 'name' | 'capabilities' | 'limits' | 'vacuum' | 'close' | 'removals' | 'references'> & {
  readonly removals: Omit<Removals, 'read'>;
  readonly references: Omit<BlobReferences, keyof ReferenceReading>;
} {
  const prepare = createPrepare(db);
  const reads = new RunReads(prepare, clock, layoutVersion, store);
  const workers = new WorkerRows(prepare, layoutVersion, clock.now);
  const removed = new RemovedRows(prepare, clock.now);
  const runs = new RunWrites({
    prepare,
    heads,
    places,
    runs: reads,
    commits,
    workers,
    removed,
    references,
    clock,
    store,
  });
  const history = new HistoryWrites(prepare, heads, places);
  const messages = new MessageWrite(prepare, references);
  const labels = new LabelWrites(prepare, store);
  const advanced = new AdvancedRuns();
  const identity = new StoreIdentity(prepare, layoutVersion);
  return {
    setIdentity: (value) => write(() => identity.write(value), 'power', 0),
    admitRun: (source) => {
      const admission = copyAdmission(source);
      if (source.claim !== undefined) advanced.add(source);
      return write(() => runs.admitRun(admission), admission.durability, source.checkpoint.body.length);
    },
    ...createRemovals(runs, removed, write),
    references: createReferenceWrites(references, write),
    ...createClaimWrites(runs, advanced, write),
    commit: (source) => {
      const commit = copyCommit(source);
      const isAlone = advanced.isOne;
      if (source.releases === true) advanced.delete(source.claim);
      return write(() => commits.commit(commit), source.durability, source.checkpoint.body.length, isAlone);
    },
    ...createWorkerWrites(runs, workers, write),
    writeSnapshot: ({ tenant, runId }, source) => {
      const snapshot = copyRow(source);
      return write(() => history.writeSnapshot({ tenant, runId }, snapshot), 'process', snapshot.body.length);
    },
    postMessage: (source) => postMessage(source, { runs, messages, write }),
    clearDelivery: ({ tenant, runId }, waitId) =>
      write(() => commits.clearDelivery({ tenant, runId }, waitId), 'process', 0),
    ...createNameWrites(history, labels, write),
    pruneRun: ({ remove, replace, snapshots, ...rest }) => {
      const prune = { ...rest, remove: [...remove], replace: replace.map(copyRow), snapshots: snapshots.map(copyRow) };
      return write(() => history.pruneRun(prune), 'process', 0);
    },
  };
}

function createClaimWrites(
  runs: RunWrites,
  advanced: AdvancedRuns,
  write: Write,
): Pick<Store, 'claimRun' | 'claimNext' | 'listClaimable' | 'releaseClaim'> {
  return {
    claimRun: (source) => {
      const request = { ...source };
      advanced.add(source);
      return write(() => runs.claimRun(request), 'process', 0);
    },
    claimNext: async (source) => {
      const request = structuredClone(source);
      const granted = await write(() => runs.claimNext(request), 'process', 0);
      for (const { claim } of granted) advanced.add(claim);
      return granted;
    },
    listClaimable: (source) => {
      const query = structuredClone(source);
      return write(() => runs.listClaimable(query), 'process', 0);
    },
    releaseClaim: (source, refusedBy) => {
      const claim = { ...source };
      advanced.delete(claim);
      return write(() => runs.releaseClaim(claim, refusedBy), 'process', 0);
    },
  };
}

/** Stores a message; the run of the message is admitted in the same transaction, if that is asked for and there is none. */
function postMessage(
  source: Message,
  { runs, messages, write }: { readonly runs: RunWrites; readonly messages: MessageWrite; readonly write: Write },
): Promise<MessageReply> {
  const { admission, ...message } = copyBody(source);
  const first = admission && copyAdmission(admission);
  const work = (): MessageReply => {
    const created = first !== undefined && runs.admitRun(first).created;
    const reply = messages.postMessage(message);
    return created ? { status: 'accepted', created } : reply;
  };
  return write(work, 'power', message.body.length + (first?.checkpoint.body.length ?? 0));
}

function createRemovals(
  runs: RunWrites,
  removed: RemovedRows,
  write: Write,
): Pick<Store, 'removeRun'> & { readonly removals: Omit<Removals, 'read'> } {
  return {
    removeRun: ({ tenant, runId }, leaves) => write(() => runs.removeRun({ tenant, runId }, leaves), 'process', 0),
    removals: {
      remove: (source) => {
        const removal = structuredClone(source);
        return write(() => runs.removeEnded(removal), 'process', 0);
      },
      forget: ({ tenant, runId }) => write(() => removed.forget({ tenant, runId }), 'process', 0),
      takeDuty: (duty, workerId, leaseMs) => write(() => removed.takeDuty(duty, workerId, leaseMs), 'process', 0),
    },
  };
}

function createWorkerWrites(
  runs: RunWrites,
  workers: WorkerRows,
  write: Write,
): Pick<Store, 'renewClaims' | 'noteWorker'> {
  return {
    renewClaims: (sources) => {
      const claims = sources.map((claim) => ({ ...claim }));
      return write(() => runs.renewClaims(claims), 'process', 0);
    },
    noteWorker: (source) => {
      const worker = structuredClone(source);
      return write(() => workers.note(worker), 'process', worker.body.length);
    },
  };
}

function createNameWrites(
  history: HistoryWrites,
  labels: LabelWrites,
  write: Write,
): Pick<Store, 'labelRun' | 'tagCheckpoint' | 'removeTag'> {
  return {
    labelRun: (source) => {
      const change = structuredClone(source);
      return write(() => labels.labelRun(change), 'process', source.meta.length);
    },
    tagCheckpoint: ({ tenant, runId }, source) => {
      const tag = { ...source };
      return write(() => history.tagCheckpoint({ tenant, runId }, tag), 'process', 0);
    },
    removeTag: ({ tenant, runId }, name) => write(() => history.removeTag({ tenant, runId }, name), 'process', 0),
  };
}

function createLimits(
  db: DatabaseSync,
  parts: Omit<LimitParts, 'prepare'>,
  read: <Reply>(work: () => Reply) => Promise<Reply>,
  write: Write,
  wake: (key: RunKey) => void,
): LimitStore {
  const prepare = createPrepare(db);
  const reads = new LimitReads(prepare);
  const writes = new LimitWrites({ ...parts, prepare });
  return {
    read: (tenant, names) => read(() => reads.read(tenant, names)),
    list: (tenant, page) => read(() => reads.list(tenant, page)),
    write: async (source) => {
      const change = structuredClone(source);
      const isWritten = await write(() => writes.write(change), 'process', 0);
      if (isWritten) wakeUnparked(change, wake);
      return isWritten;
    },
    check: (tenant, source) => {
      const holders = structuredClone(source);
      return write(() => writes.check(tenant, holders), 'process', 0);
    },
    readLine: (tenant, line, query) => read(() => reads.readLine(tenant, line, query)),
    listLines: (tenant, page) => read(() => reads.listLines(tenant, page)),
    findInLine: (run) => read(() => reads.findInLine(run)),
  };
}

/** How often it looks, in ms. The look reads one number from shared memory. */
const lookEveryMs = 100;

/** Calls back when another connection, of this process or another, has written to the database. @returns a function that stops it */
function watchFile(db: DatabaseSync, onWritten: () => void): () => void {
  const versionStatement = db.prepare('pragma data_version');
  const readVersion = (): unknown => versionStatement.get()?.['data_version'];
  let version = readVersion();
  const timer = setInterval(() => {
    try {
      const next = readVersion();
      if (next === version) return;
      version = next;
    } catch {
      // The store was closed, or cannot be read; whoever watches also polls, and gets the error then.
      return clearInterval(timer);
    }
    onWritten();
  }, lookEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}
