/** The store that keeps everything in this process: for tests, trials, and runs that need not outlive it. */

import type { CommitReply, Store } from '../../ports/store.ts';
import { listRuns } from './memory-queries.ts';
import { MemoryTables } from './memory-tables.ts';

export interface MemoryStoreOptions {
  /** For messages. Default is `memory:`. */
  readonly name?: string;
  /** Epoch ms; leases are measured with it. Default is the system's clock. */
  readonly now?: () => number;
}

/** One promise for every accepted commit: it is resolved already and its value cannot be changed. */
const held: Promise<CommitReply> = Promise.resolve(Object.freeze({ isHeld: true }));

/**
 * Creates a store in memory with the semantics of every other store, deep isolation included; it survives nothing.
 *
 * All work is done before the call returns, so calls take effect in the order in which they are made.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const tables = new MemoryTables(options.now ?? Date.now, options.name ?? 'memory:');
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
    capabilities: { durability: 'none', isShared: false },
    admitRun: (admission) => reply(() => tables.admitRun(admission)),
    readRun: (key) => reply(() => tables.readRun(key)),
    findRuns: (tenant, prefix, limit) => reply(() => tables.findRuns(tenant, prefix, limit)),
    listRuns: (query) => reply(() => listRuns(tables.runsOf(query.tenant), query, tables.now())),
    removeRun: (key) => reply(() => tables.removeRun(key)),
    claimRun: (request) => reply(() => tables.claimRun(request)),
    renewClaim: (claim) => reply(() => tables.renewClaim(claim)),
    releaseClaim: (claim) => reply(() => tables.releaseClaim(claim)),
    commit: (commit) => {
      // Written out, as it is called once a node: a closure and a promise less.
      try {
        return tables.commit(commit) ? held : Promise.resolve({ isHeld: false });
      } catch (error) {
        return Promise.reject(error);
      }
    },
    readCheckpoints: (key, range) => reply(() => tables.readCheckpoints(key, range)),
    readSnapshot: (key, atOrBefore) => reply(() => tables.readSnapshot(key, atOrBefore)),
    writeSnapshot: (key, snapshot) => reply(() => tables.writeSnapshot(key, snapshot)),
    postMessage: (message) => reply(() => tables.postMessage(message)),
    readMessages: (key) => reply(() => tables.readMessages(key)),
    listWaits: (query) => reply(() => tables.listWaits(query)),
    tagCheckpoint: (key, tag) => reply(() => tables.tagCheckpoint(key, tag)),
    removeTag: (key, name) => reply(() => void tables.find(key)?.tags.delete(name)),
    readTags: (key) => reply(() => tables.readTags(key)),
    pruneRun: (prune) => reply(() => tables.pruneRun(prune)),
    close: () => {
      tables.isClosed = true;
      return Promise.resolve();
    },
  };
}
