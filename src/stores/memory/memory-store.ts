/** The store in memory, for tests, trials, and runs that need not outlive the process. */
import type { LiveFeed, LivePiece } from '../../ports/live-feed.ts';
import type { RunKey, CommitReply, Store } from '../../ports/store.ts';
import { readLimit, type Memories, type MemoryEntry, type MemoryOwner } from '../../ports/memories.ts';
import { CairnError } from '../../errors.ts';
import { listRuns } from './memory-queries.ts';
import { MemoryTables } from './memory-tables.ts';
import { Watchers } from '../watchers.ts';

export interface MemoryStoreOptions {
  /** Name for messages. Default `memory:`. */
  readonly name?: string;
  /** See {@link Store.readIdentity}. Default: none, because data in memory cannot be copied. */
  readonly identity?: string;
  /** Returns the time in epoch ms; leases are measured with it. Default: the system clock. */
  readonly now?: () => number;
}

/** Validates the options at run time, because plain JavaScript has no type checker. @throws CONFIG_INVALID */
function checkOptions(options: unknown): void {
  const refuse = (path: string, reason: string): never => {
    throw new CairnError('CONFIG_INVALID', { path, reason });
  };
  if (typeof options !== 'object' || options === null) return refuse('', 'a store takes its options as an object');
  const { name, identity, now, ...others }: { name?: unknown; identity?: unknown; now?: unknown } = options;
  if (name !== undefined && typeof name !== 'string') refuse('name', 'it must be text');
  if (identity !== undefined && typeof identity !== 'string') refuse('identity', 'it must be text');
  if (now !== undefined && typeof now !== 'function') refuse('now', 'it must be a function');
  for (const other of Object.keys(others)) refuse(other, 'the store has no such option; it has name, identity, now');
}

/** One resolved promise for every accepted commit; its value is immutable. */
const held: Promise<CommitReply> = Promise.resolve(Object.freeze({ isHeld: true }));

/**
 * Makes a store in memory with the semantics of every other store, full isolation included. Nothing survives the process.
 *
 * @throws CONFIG_INVALID an unknown or invalid option
 *
 * All work is done before a call returns, so calls take effect in the order in which they are made.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions(options);
  const { now = Date.now, name = 'memory:', identity = '' } = options;
  const tables = new MemoryTables(now, name, identity);
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
    capabilities: { durability: 'none', isShared: false },
    live: createMemoryLiveFeed(),
    readIdentity: () => reply(() => tables.identity),
    setIdentity: (given) => reply(() => void (tables.identity = given)),
    admitRun: (admission) =>
      reply(() => {
        const admitted = tables.admitRun(admission);
        if (admission.claim === undefined) watchers.wake(admission.tenant, admission.runId);
        return admitted;
      }),
    readRun: (key) => reply(() => tables.readRun(key)),
    findRuns: (tenant, prefix, limit) => reply(() => tables.findRuns(tenant, prefix, limit)),
    listRuns: (query) => reply(() => listRuns(tables.runsOf(query.tenant), query, tables.now())),
    removeRun: (key) => reply(() => tables.removeRun(key)),
    claimRun: (request) => reply(() => tables.claimRun(request)),
    claimNext: (request) => reply(() => tables.claimNext(request)),
    listClaimable: (query) => reply(() => tables.listClaimable(query)),
    watch: (tenant, wake) => watchers.add(tenant, wake),
    hearsOthers: () => true,
    renewClaims: (claims) => reply(() => claims.map((claim) => tables.renewClaim(claim))),
    releaseClaim: (claim, refusedBy) =>
      reply(() => {
        tables.releaseClaim(claim, refusedBy);
        watchers.wake(claim.tenant, claim.runId);
      }),
    noteWorker: (worker) => reply(() => tables.noteWorker(worker)),
    listWorkers: (tenant) => reply(() => tables.listWorkers(tenant)),
    commit: (commit) => {
      // Written out because it runs once for every node: it saves a closure and a promise.
      try {
        return tables.commit(commit) ? held : Promise.resolve({ isHeld: false });
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

// Live pieces of runs in this process.

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

// Memories kept in this process only, for tests.

interface StoredMemory {
  readonly keys: Set<string>;
  readonly entries: MemoryEntry[];
}

/** @param now - returns the time in epoch ms */
export function createMemoryMemories(now: () => number = Date.now): Memories {
  const owners = new Map<string, StoredMemory>();
  const keptOf = ({ user, session }: MemoryOwner): StoredMemory => {
    const name = JSON.stringify([user, session]);
    const kept = owners.get(name) ?? { keys: new Set(), entries: [] };
    owners.set(name, kept);
    return kept;
  };
  return {
    read: async (owner, { text = '', limit = readLimit } = {}) => {
      const sought = text.toLowerCase();
      const found = keptOf(owner).entries.filter(({ content }) => content.toLowerCase().includes(sought));
      return limit > 0 ? found.slice(-limit) : [];
    },
    write: async (owner, contents, key) => {
      const { keys, entries } = keptOf(owner);
      if (keys.has(key)) return;
      keys.add(key);
      entries.push(...contents.map((content) => ({ content, at: now() })));
    },
    forget: async ({ user, session }) => void owners.delete(JSON.stringify([user, session])),
    close: async () => {},
  };
}
