/** A store over tables in memory, which adapters share: the memory store is that, and the file store writes each change to a journal too. */

import type { LiveFeed, LivePiece } from '../ports/live-feed.ts';
import type { CommitReply, RunKey, Store, StoreCapabilities } from '../ports/store.ts';
import { listRuns } from './run-queries.ts';
import type { MemoryTables } from './run-tables.ts';
import { Watchers } from './watchers.ts';

/** One resolved promise for every accepted commit; its value is immutable. */
const acceptedReply: Promise<CommitReply> = Promise.resolve(Object.freeze({ isHeld: true }));

/** All work is done before a call returns, so calls take effect in the order in which they are made. */
export function createTablesStore(tables: MemoryTables, capabilities: StoreCapabilities): Store {
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
    removeRun: (key) => reply(() => tables.removeRun(key)),
    claimRun: (request) => reply(() => tables.claimRun(request)),
    claimNext: (request) => reply(() => tables.claimNext(request)),
    listClaimable: (query) => reply(() => tables.listClaimable(query)),
    watch: (tenant, wake) => watchers.add(tenant, wake),
    hearsOthers: () => true,
    renewClaims: (claims) => reply(() => claims.map((claim) => tables.renewClaim(claim))),
    noteWorker: (worker) => reply(() => tables.noteWorker(worker)),
    listWorkers: (tenant) => reply(() => tables.listWorkers(tenant)),
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
    tagCheckpoint: (key, tag) => reply(() => tables.tagCheckpoint(key, tag)),
    removeTag: (key, name) => reply(() => tables.removeTag(key, name)),
    readTags: (key) => reply(() => tables.readTags(key)),
    pruneRun: (prune) => reply(() => tables.pruneRun(prune)),
    close: () => {
      tables.isClosed = true;
      return Promise.resolve();
    },
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
