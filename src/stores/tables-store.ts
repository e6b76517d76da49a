/** A store over tables in memory, which adapters share: the memory store is that, and the file store writes each change to a journal too. */

import type { BlobReferences } from '../ports/blob-references.ts';
import type { LiveFeed, LivePiece } from '../ports/live-feed.ts';
import type { CommitReply, RunKey, Store, StoreCapabilities } from '../ports/store.ts';
import { createLimitStore, LimitTables } from './limit-tables.ts';
import { countCodes, countOpen, countRuns, endedGraphs, listEnded, listRuns } from './run-queries.ts';
import type { MemoryTables } from './run-tables.ts';
import { Watchers } from './watchers.ts';

/** One resolved promise for every accepted commit; its value is immutable. */
const acceptedReply: Promise<CommitReply> = Promise.resolve(Object.freeze({ isHeld: true }));

/** All work is done before a call returns, so calls take effect in the order in which they are made. */
export function createTablesStore(
  tables: MemoryTables,
  capabilities: StoreCapabilities,
  limits: LimitTables = new LimitTables(tables),
): Store {
  const watchers = new Watchers();
  const reply = <Reply>(work: () => Reply): Promise<Reply> => {
    try {
      tables.requireOpen();
      return Promise.resolve(work());
    } catch (error) {
      return Promise.reject(error);
    }
  };
  return {
    name: tables.name,
    capabilities,
    live: createMemoryLiveFeed(),
    limits: createLimitStore(limits, reply, ({ tenant, runId }) => watchers.wake(tenant, runId)),
    readIdentity: () => reply(() => tables.identity),
    setIdentity: (identity) => reply(() => tables.setIdentity(identity)),
    admitRun: (admission) =>
      reply(() => {
        const admitted = tables.admitRun(admission);
        if (admission.claim === undefined) watchers.wake(admission.tenant, admission.runId);
        return admitted;
      }),
    readRun: (key) => reply(() => tables.readRun(key)),
    findRuns: (tenant, prefix, limit) => reply(() => tables.findRuns(tenant, prefix, limit)),
    listRuns: (query) => reply(() => listRuns(tables.runsOf(query.tenant), query, tables.clock)),
    ...createCounts(tables, reply),
    ...createRetention(tables, reply),
    references: createReferences(tables, reply),
    ...createSmallCalls(tables, reply),
    claimRun: (request) => reply(() => tables.claimRun(request)),
    claimNext: (request) => reply(() => tables.claimNext(request)),
    listClaimable: (query) => reply(() => tables.listClaimable(query)),
    watch: (tenant, wake) => watchers.add(tenant, wake),
    hearsOthers: () => true,
    releaseClaim: (claim, refusedBy) =>
      reply(() => {
        tables.releaseClaim(claim, refusedBy);
        watchers.wake(claim.tenant, claim.runId);
      }),
    commit: (commit) => {
      // Written out because it runs once for every node: it saves a closure and a promise.
      try {
        return tables.commit(commit) ? acceptedReply : Promise.resolve({ isHeld: false });
      } catch (error) {
        return Promise.reject(error);
      }
    },
    readCheckpoints: (key, range) => reply(() => tables.readCheckpoints(key, range)),
    readSnapshot: (key, atOrBefore) => reply(() => tables.readSnapshot(key, atOrBefore)),
    writeSnapshot: (key, snapshot) => reply(() => tables.writeSnapshot(key, snapshot)),
    postMessage: (message) =>
      reply(() => {
        const posted = tables.postMessage(message);
        watchers.wake(message.tenant, message.runId);
        return posted;
      }),
    readMessages: (key) => reply(() => tables.readMessages(key)),
    hasMessage: (key, message) => reply(() => tables.hasMessage(key, message)),
    listWaits: (query) => reply(() => tables.listWaits(query)),
    pruneRun: (prune) => reply(() => tables.pruneRun(prune)),
    close: () => {
      tables.isClosed = true;
      return Promise.resolve();
    },
  };
}

function createCounts(
  tables: MemoryTables,
  reply: <Reply>(work: () => Reply) => Promise<Reply>,
): Required<Pick<Store, 'countRuns' | 'countOpen' | 'countCodes'>> {
  return {
    countRuns: (query) => reply(() => countRuns(tables.runsOf(query.tenant), query)),
    countOpen: (tenant) => reply(() => countOpen(tables.runsOf(tenant), tables.clock.now())),
    countCodes: (tenant, graphs) => reply(() => countCodes(tables.runsOf(tenant), graphs)),
  };
}

/** Calls about runs that ended, are removed, or were. */
function createRetention(
  tables: MemoryTables,
  reply: <Reply>(work: () => Reply) => Promise<Reply>,
): Required<Pick<Store, 'removeRun' | 'removals' | 'ended'>> {
  return {
    removeRun: (key, leaves) => reply(() => tables.removeRun(key, leaves)),
    removals: {
      remove: (removal) => reply(() => tables.removeEnded(removal)),
      read: (key) => reply(() => tables.readRemoved(key)),
      forget: (key) => reply(() => tables.forgetRemoved(key)),
      takeDuty: (name, workerId, leaseMs) => reply(() => tables.takeDuty(name, workerId, leaseMs)),
    },
    ended: {
      graphs: (tenant) => reply(() => endedGraphs(tables.runsOf(tenant))),
      list: (query) => reply(() => listEnded(tables.runsOf(query.tenant), query)),
    },
  };
}

/** Calls about the blobs that runs name. */
function createReferences(tables: MemoryTables, reply: <Reply>(work: () => Reply) => Promise<Reply>): BlobReferences {
  return {
    named: (tenant, hashes) => reply(() => tables.namedBlobs(tenant, hashes)),
    of: (tenant, runIds) => reply(() => tables.referencesOf(tenant, runIds)),
    add: (key, hashes, read) => reply(() => tables.addReferences(key, hashes, read)),
    drop: (key, named) => reply(() => tables.dropReferences(key, named)),
    listUnread: (tenant, page) => reply(() => tables.listUnread(tenant, page)),
    define: (tenant, graphId, hashes) => reply(() => tables.define(tenant, graphId, hashes)),
    defined: (tenant, hashes) => reply(() => tables.definedGraphs(tenant, hashes)),
  };
}

/** Calls about workers, deliveries, labels and tags. */
function createSmallCalls(
  tables: MemoryTables,
  reply: <Reply>(work: () => Reply) => Promise<Reply>,
): Pick<
  Store,
  | 'renewClaims'
  | 'noteWorker'
  | 'listWorkers'
  | 'clearDelivery'
  | 'labelRun'
  | 'tagCheckpoint'
  | 'removeTag'
  | 'readTags'
> {
  return {
    clearDelivery: (key, waitId) => reply(() => tables.clearDelivery(key, waitId)),
    renewClaims: (claims) => reply(() => claims.map((claim) => tables.renewClaim(claim))),
    noteWorker: (worker) => reply(() => tables.noteWorker(worker)),
    listWorkers: (tenant) => reply(() => tables.listWorkers(tenant)),
    labelRun: (change) => reply(() => tables.labelRun(change)),
    tagCheckpoint: (key, tag) => reply(() => tables.tagCheckpoint(key, tag)),
    removeTag: (key, name) => reply(() => tables.removeTag(key, name)),
    readTags: (key) => reply(() => tables.readTags(key)),
  };
}

/** Live pieces of runs in this process. */
function createMemoryLiveFeed(): LiveFeed {
  const runs = new Map<string, Map<number, LivePiece>>();
  const nameOf = ({ tenant, runId }: RunKey): string => JSON.stringify([tenant, runId]);
  return {
    pollMs: 20,
    write: async (run, { remove = [], add = [] }) => {
      const name = nameOf(run);
      const pieces = remove === 'all' ? new Map<number, LivePiece>() : (runs.get(name) ?? new Map<number, LivePiece>());
      if (remove !== 'all') for (const n of remove) pieces.delete(n);
      for (const piece of add) pieces.set(piece.n, piece);
      if (pieces.size === 0) runs.delete(name);
      else runs.set(name, pieces);
    },
    read: async (run, after) => [...(runs.get(nameOf(run))?.values() ?? [])].filter(({ n }) => n > after),
  };
}
