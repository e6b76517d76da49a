/** The store in a Postgres database, which any number of machines share. */
import type { LiveFeed } from '../../ports/live-feed.ts';
import { fromText, kindCode, toText, Tables, keyOf, runNo } from './tables.ts';
import type { Memories, MemoryEntry, MemoryOwner } from '../../ports/memories.ts';
import { findNewest } from '../beside-runs.ts';
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { RenewalSource, RunKey, Store } from '../../ports/store.ts';
import { plainPassword, secretPassword } from '../server-url.ts';
import {
  claimNext,
  claimRun,
  listClaimable,
  listWorkers,
  noteWorker,
  readBacklog,
  releaseClaim,
  renewClaims,
} from './claims.ts';
import { CheckpointReads } from './checkpoint-reads.ts';
import { CommitLane } from './commit-lane.ts';
import { Database, type PostgresPool } from './database.ts';
import { examineServer } from './examine.ts';
import { createPostgresLimits } from './limits.ts';
import { grantRole, migrate, type PostgresRole } from './layout.ts';
import { checkSchema, openPool, readPostgresUrl, weaknessOf } from './place.ts';
import { postgresRenewalSource } from './renewal.ts';
import { createPostgresBlobs } from './postgres-blobs.ts';
import * as reads from './run-reads.ts';
import { createEndedRuns, createRemovals } from './removals.ts';
import { createReferences } from './references.ts';
import * as writes from './run-writes.ts';
import { WakeUps } from './wake-ups.ts';

export interface PostgresStoreOptions {
  /**
   * `postgres://USER@HOST:PORT/DATABASE`, with `?schema=` (default `cairn`), `sslmode=` (`verify-full`, or `require`, or `disable`, which
   * is the default on this machine only), `sslrootcert=`, `connect_timeout=` (seconds; default 5) and `pgbouncer=true`.
   */
  readonly url?: string;
  /** In place of a URL: a pool of the package `pg`, which stays yours. Closing the store does not end it. */
  readonly pool?: PostgresPool;
  /** Schema of the tables, with a pool. Default `cairn`. */
  readonly schema?: string;
  /** The password, where the URL has none. Called for each new connection. */
  readonly password?: () => string | undefined;
  /** URL of the server itself, where a pooler stands before it: over that, nobody can be woken. Without it, runs are found by polling. */
  readonly listenUrl?: string;
}

const optionNames: readonly string[] = ['url', 'pool', 'schema', 'password', 'listenUrl'];

/** A store with what belongs to it in the same database. */
export interface PostgresStore extends Store {
  readonly blobs: BlobStore;
  readonly memories: Memories;
  /**
   * Connects, and makes the tables if they are not there. Every other call does so too. @throws STORE_UNAVAILABLE, STORE_VERSION_UNKNOWN
   */
  ready(): Promise<void>;
  /** Brings the tables to the newest layout. @throws STORE_READ_ONLY the role may not */
  migrate(): Promise<{ readonly from: number; readonly to: number }>;
  /** Grants a role what an engine needs (`app`), or reading (`viewer`). @throws CONFIG_INVALID, STORE_READ_ONLY */
  grant(name: string, role: PostgresRole): Promise<void>;
}

/**
 * Opens a store in Postgres. Nothing is connected before the first call. Needs the package `pg`, unless there is a pool.
 *
 * What an acknowledged write survives: each a killed process, and those that ask for it, claims and messages a crash of the server.
 *
 * @throws CONFIG_INVALID neither a URL nor a pool, or one that is not understood. Methods throw as the port says, and CONFIG_MISSING_PEER.
 */
export function openPostgresStore(options: PostgresStoreOptions): PostgresStore {
  const unknown = Object.keys(options).find((key) => !optionNames.includes(key));
  if (unknown !== undefined)
    throw new CairnError('CONFIG_INVALID', {
      path: unknown,
      reason: `openPostgresStore has no such option; it has ${optionNames.join(', ')}`,
    });
  const { database, listening, schema } = openDatabases(options);
  const tables = new Tables(database, schema);
  const wakeUps = new WakeUps(database, listening, schema);
  const wake: Wake = (key) => wakeUps.wake(key);
  const lane = new CommitLane(tables.query, wake);
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await lane.drain();
    await wakeUps.close();
    await Promise.all([database.close(), listening.close()]);
  };
  const assertOpen = (): void => {
    if (isClosed) throw new CairnError('STORE_CLOSED', { store: database.name });
  };
  return {
    name: database.name,
    capabilities: { durability: 'power', isShared: true },
    ...createReads(tables),
    ...createWrites(tables, lane, wake, assertOpen),
    watch: (tenant, call) => wakeUps.watch(tenant, call),
    hearsOthers: () => wakeUps.isListening,
    renewalSource: () => renewalSourceOf(options),
    readTime: () => tables.readTime(),
    readBacklog: (query) => readBacklog(tables, query),
    examine: () =>
      examineServer(tables, wakeUps, options.url === undefined ? undefined : weaknessOf(readPostgresUrl(options.url))),
    blobs: createPostgresBlobs(tables),
    memories: createPostgresMemories(tables),
    live: createPostgresLiveFeed(tables),
    limits: createPostgresLimits(tables, wake),
    ready: () => tables.ready(),
    migrate: () => migrate(database, schema),
    grant: (name, role) => grantRole(database, schema, name, role),
    close,
  };
}

function renewalSourceOf({ url, password }: PostgresStoreOptions): RenewalSource | string {
  if (url === undefined) return "its pool is the program's own";
  const place = readPostgresUrl(url);
  const plain = plainPassword(place, password);
  return plain === undefined ? secretPassword : postgresRenewalSource(place, plain);
}

function openDatabases(options: PostgresStoreOptions): {
  readonly database: Database;
  readonly listening: Database;
  readonly schema: string;
} {
  const { url, pool, password = () => undefined, listenUrl } = options;
  const openUrl = (text: string, connections?: number): Database => {
    const place = readPostgresUrl(text);
    return new Database({
      openPool: () => openPool(place, () => place.password ?? password(), connections),
      ownsPool: true,
      name: place.name,
      schema: place.schema,
      connectTimeoutMs: place.connectTimeoutMs,
      prepares: !place.isPooled,
      // Statements here are short, and compiling one takes longer than running it. Behind a pooler it would be set for others.
      ...(!place.isPooled && { setUp: 'set jit = off' }),
    });
  };
  if ((url === undefined) === (pool === undefined))
    throw new CairnError('CONFIG_INVALID', { path: 'openPostgresStore', reason: 'it takes a url or a pool' });
  const schema = url === undefined ? checkSchema(options.schema ?? 'cairn') : readPostgresUrl(url).schema;
  const database =
    pool === undefined
      ? openUrl(url ?? '')
      : new Database({
          openPool: () => Promise.resolve(pool),
          ownsPool: false,
          name: `postgres:${schema}`,
          schema,
          connectTimeoutMs: 5000,
          prepares: true,
        });
  return { database, schema, listening: listenUrl === undefined ? database : openUrl(listenUrl, 1) };
}

function createReads(
  tables: Tables,
): Pick<
  Store,
  | 'readIdentity'
  | 'readRun'
  | 'findRuns'
  | 'listRuns'
  | 'readCheckpoints'
  | 'readSnapshot'
  | 'readMessages'
  | 'hasMessage'
  | 'listWaits'
  | 'countRuns'
  | 'countOpen'
  | 'countCodes'
  | 'readTags'
  | 'listWorkers'
> {
  const checkpoints = new CheckpointReads(tables.query);
  return {
    readIdentity: sharedByTurn(async () => {
      const [row] = await tables.query<{ identity: string }>(`select identity from S.store`);
      return fromText(row?.identity ?? '');
    }),
    readRun: (key) => reads.readRun(tables, key),
    findRuns: (tenant, prefix, limit) => reads.findRuns(tables, tenant, prefix, limit),
    listRuns: (query) => reads.listRuns(tables, query),
    readCheckpoints: (key, range) => checkpoints.read(key, range),
    readSnapshot: (key, atOrBefore) => reads.readSnapshot(tables, key, atOrBefore),
    readMessages: (key) => reads.readMessages(tables, key),
    hasMessage: (key, message) => reads.hasMessage(tables, key, message),
    listWaits: (query) => reads.listWaits(tables, query),
    countRuns: (query) => reads.countRuns(tables, query),
    countOpen: (tenant) => reads.countOpen(tables, tenant),
    countCodes: (tenant, graphs) => reads.countCodes(tables, tenant, graphs),
    readTags: (key) => reads.readTags(tables, key),
    listWorkers: (tenant) => listWorkers(tables, tenant),
  };
}

/** Calls of one turn share a read. */
function sharedByTurn<Reply>(read: () => Promise<Reply>): () => Promise<Reply> {
  let shared: Promise<Reply> | undefined;
  const begin = async (): Promise<Reply> => {
    await new Promise((resolve) => setImmediate(resolve));
    shared = undefined;
    return read();
  };
  return () => (shared ??= begin());
}

type Writes = Omit<
  Store,
  keyof ReturnType<typeof createReads> | 'name' | 'capabilities' | 'watch' | 'readBacklog' | 'examine' | 'close'
>;

/** Wakes those who watch the run's tenant. */
type Wake = (key: RunKey) => void;

function createWrites(tables: Tables, lane: CommitLane, wake: Wake, assertOpen: () => void): Writes {
  const admissions = new writes.AdmissionLane(tables);
  return {
    setIdentity: async (identity) => {
      await tables.query(`update S.store set identity = $1`, [toText(identity)]);
    },
    admitRun: async (admission) => {
      const { tenant, runId, claim } = admission;
      assertOpen();
      const reply = await admissions.admit(admission);
      if (claim === undefined) wake({ tenant, runId });
      return reply;
    },
    removeRun: (key, leaves) => writes.removeRun(tables, key, leaves),
    removals: createRemovals(tables),
    ended: createEndedRuns(tables),
    references: createReferences(tables),
    claimRun: (request) => claimRun(tables, request),
    claimNext: (request) => claimNext(tables, request),
    listClaimable: (query) => listClaimable(tables, query),
    renewClaims: (claims) => renewClaims(tables, claims),
    noteWorker: (worker) => noteWorker(tables, worker),
    releaseClaim: async (claim, refusedBy) => {
      const { tenant, runId } = claim;
      if (await releaseClaim(tables, claim, refusedBy)) wake({ tenant, runId });
    },
    commit: async (commit) => {
      assertOpen();
      return lane.commit(commit);
    },
    writeSnapshot: (key, snapshot) => writes.writeSnapshot(tables, key, snapshot),
    postMessage: async (message) => {
      const { tenant, runId } = message;
      const reply = await writes.postMessage(tables, message);
      if (reply.status === 'accepted') wake({ tenant, runId });
      return reply;
    },
    clearDelivery: async (key, waitId) => {
      await tables.query(
        `delete from S.waits where run = ${runNo} and wait_id = $3 and kind = ${kindCode('delivery')}`,
        [...keyOf(key), toText(waitId)],
      );
    },
    labelRun: (change) => writes.labelRun(tables, change),
    tagCheckpoint: (key, tag) => writes.tagCheckpoint(tables, key, tag),
    removeTag: async (key, name) => {
      await tables.query(`delete from S.tags where run = ${runNo} and name = $3`, [...keyOf(key), toText(name)]);
    },
    pruneRun: (prune) => writes.pruneRun(tables, prune),
  };
}

// Memories in Postgres: a port of its own, so a file of its own, as in the other stores.

/** How many entries are read at a time while matching ones are looked for. */
const pageSize = 200;

function createPostgresMemories(tables: Tables): Memories {
  async function* newestFirst({ user, session }: MemoryOwner): AsyncIterable<readonly MemoryEntry[]> {
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const rows = await tables.query<{ id: number; content: string; at: number }>(
        `select id, content, at from S.memories where owner = $1 and session = $2 and id < $3 order by id desc limit ${pageSize}`,
        [toText(user), toText(session), before],
      );
      yield rows.map(({ content, at }) => ({ content: fromText(content), at }));
      if (rows.length < pageSize) return;
      before = rows.at(-1)?.id ?? 0;
    }
  }
  return {
    read: (owner, query) => findNewest(newestFirst(owner), query),
    write: async ({ user, session }, contents, key) => {
      await tables.query(
        `with made as (insert into S.memory_writes (owner, session, key) values ($1, $2, $3) on conflict do nothing returning 1)
        insert into S.memories (owner, session, content, at)
        select $1, $2, c.content, S.now_ms() from made, unnest($4::text[]) with ordinality as c(content, no) order by c.no`,
        [toText(user), toText(session), toText(key), contents.map(toText)],
      );
    },
    forget: async ({ user, session }) => {
      await tables.query(
        `with gone as (delete from S.memories where owner = $1 and session = $2)
        delete from S.memory_writes where owner = $1 and session = $2`,
        [toText(user), toText(session)],
      );
    },
    // They are closed with their store.
    close: () => Promise.resolve(),
  };
}

// Live pieces of runs in a table that no log of the server has: they are gone after a crash of it, and cost no wait
// for the disk.

function createPostgresLiveFeed(tables: Tables): LiveFeed {
  return {
    pollMs: 100,
    write: async ({ tenant, runId }, { remove = [], add = [] }) => {
      await tables.query(
        `with gone as (
          delete from S.live_pieces where tenant = $1 and run_id = $2 and ($3 or n = any($4::bigint[])))
        insert into S.live_pieces (tenant, run_id, n, node, detail)
        select $1, $2, p.n, p.node, p.detail from unnest($5::bigint[], $6::text[], $7::text[]) as p(n, node, detail)
        on conflict do nothing`,
        [
          toText(tenant),
          toText(runId),
          remove === 'all',
          remove === 'all' ? [] : remove,
          add.map(({ n }) => n),
          add.map(({ node }) => toText(JSON.stringify(node))),
          add.map(({ detail }) => toText(JSON.stringify(detail))),
        ],
      );
    },
    read: async ({ tenant, runId }, after) => {
      const rows = await tables.query<{ n: number; node: string; detail: string }>(
        `select n, node, detail from S.live_pieces where tenant = $1 and run_id = $2 and n > $3 order by n`,
        [toText(tenant), toText(runId), after],
      );
      return rows.map(({ n, node, detail }) => ({
        n,
        node: JSON.parse(fromText(node)) as readonly string[],
        detail: JSON.parse(fromText(detail)) as unknown,
      }));
    },
  };
}
