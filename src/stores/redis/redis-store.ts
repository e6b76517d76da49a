/** The store in a Redis server, which any number of machines share. The rules are in the server's functions; here are rows and replies. */
import { CairnError } from '../../errors.ts';
import { blobsOfAdmission, blobsOfCommit } from '../../ports/blob-references.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Memories } from '../../ports/memories.ts';
import { expiredError } from '../../ports/removed-runs.ts';
import { scheduleOf } from '../../ports/schedule.ts';
import type {
  Admission,
  AdmissionReply,
  Claim,
  ClaimableQuery,
  Commit,
  GrantedClaim,
  GraphCodes,
  MessageReply,
  OpenWait,
  Page,
  RunKey,
  RunQuery,
  RunRow,
  Store,
  StoredStatus,
  StoreCapabilities,
  StoreFinding,
  WaitQuery,
  WaitRow,
} from '../../ports/store.ts';
import { firstRetryMs, readWakeUp, retryMaxMs, Watchers } from '../watchers.ts';
import { createRedisNames, noCheckpoint, notFound } from './names.ts';
import { createRedisReferences } from './references.ts';
import { createRedisRemovals, toRemoved } from './removals.ts';
import { createRedisBlobs, createRedisLiveFeed, createRedisMemories } from './beside-runs.ts';
import { countOpen, countRuns, fixedQuery } from './counts.ts';
import { createRedisLimits } from './redis-limits.ts';
import { plainPassword, secretPassword } from '../server-url.ts';
import { redisRenewalSource } from './renewal.ts';
import { never } from './run-functions.ts';
import { bounded, listOf, readRedisUrl, RedisServer, textOf, type Reply } from './server.ts';

export interface RedisStoreOptions {
  /**
   * `redis://USER@HOST:PORT/DATABASE`, or `rediss://` with TLS; with `?prefix=` of all keys (default `cairn`), `ca=` (path of certificates to
   * trust), `connect_timeout=` (seconds; default 5), and `cleartext=allow`, without which plain connections stay on this machine.
   */
  readonly url: string;
  /** The password, where the URL has none. Called for each new connection. */
  readonly password?: () => string | undefined;
}

const optionNames: readonly string[] = ['url', 'password'];

/** A store with what belongs to it on the same server. */
export interface RedisStore extends Store {
  examine(): Promise<readonly StoreFinding[]>;
  readonly blobs: BlobStore;
  readonly memories: Memories;
  /** Connects. Every other call does so too. @throws CONFIG_INVALID a server that may lose runs; CONFIG_MISSING_PEER; STORE_* */
  ready(): Promise<void>;
}

/**
 * Opens a store in Redis 7 or Valkey, on one primary. Nothing is connected before the first call. Needs the package `redis`.
 *
 * What an acknowledged write survives follows the server's `appendfsync`: see `capabilities` after the first call.
 *
 * @throws CONFIG_INVALID a URL or an option that is not understood. Methods throw as the port says, CONFIG_MISSING_PEER, and CONFIG_INVALID
 * for a server that is no place for runs: a Cluster, one that evicts keys, an old one.
 */
export function openRedisStore(options: RedisStoreOptions): RedisStore {
  const unknown = Object.keys(options).find((key) => !optionNames.includes(key));
  if (unknown !== undefined)
    throw new CairnError('CONFIG_INVALID', {
      path: unknown,
      reason: `openRedisStore has no such option; it has ${optionNames.join(', ')}`,
    });
  const place = readRedisUrl(options.url);
  const server = new RedisServer(place, options.password ?? (() => undefined));
  const wakeUps = new WakeUps(server);
  const capabilities: StoreCapabilities = {
    isShared: true,
    get durability() {
      return server.promise.durability;
    },
  };
  return {
    name: server.name,
    capabilities,
    ...createReads(server),
    ...createWrites(server, (key) => wakeUps.wake(key)),
    ...createClaims(server, (key) => wakeUps.wake(key)),
    watch: (tenant, wake) => wakeUps.watch(tenant, wake),
    hearsOthers: () => wakeUps.isListening,
    renewalSource: () => {
      const password = plainPassword(place, options.password);
      return password === undefined ? secretPassword : redisRenewalSource(place, password);
    },
    blobs: createRedisBlobs(server),
    memories: createRedisMemories(server),
    live: createRedisLiveFeed(server),
    limits: createRedisLimits(server, (key) => wakeUps.wake(key)),
    removals: createRedisRemovals(server),
    references: createRedisReferences(server),
    examine: () => server.examine(),
    ready: () => server.ready(),
    close: async () => {
      wakeUps.close();
      await server.close();
    },
  };
}

/** Bytes with their time and checksum, as the server keeps them. It compares the checksum, or the body. */
function packRow({ at = 0, body, checksum }: { at?: number; body: Uint8Array; checksum?: Uint8Array }): Buffer {
  const head = Buffer.alloc(9);
  head.writeDoubleBE(at);
  head[8] = checksum?.length ?? 0;
  return Buffer.concat([head, ...(checksum === undefined ? [] : [checksum]), body]);
}

function unpackRow(reply: Reply | undefined): { at: number; body: Uint8Array; checksum?: Uint8Array } {
  const bytes = reply as Buffer;
  const end = 9 + (bytes[8] ?? 0);
  return {
    at: bytes.readDoubleBE(),
    body: new Uint8Array(bytes.subarray(end)),
    ...(end > 9 && { checksum: new Uint8Array(bytes.subarray(9, end)) }),
  };
}

const asCheckpoint = (reply: Reply | undefined): { at: number; body: Uint8Array; checksum: Uint8Array } => ({
  checksum: new Uint8Array(),
  ...unpackRow(reply),
});

function toRunRow(reply: Reply | undefined): RunRow {
  const r = listOf(reply);
  const [parent, parentSeq, owner, remaining, queueKey] = [r[9], r[10], r[11], r[12], r[16]];
  const refusals = listOf(r[22]).map((one) => ({ by: textOf(listOf(one)[0]), at: Number(listOf(one)[1]) }));
  return {
    tenant: textOf(r[0]),
    runId: textOf(r[1]),
    key: textOf(r[2]),
    graphId: textOf(r[3]),
    graphHash: textOf(r[4]),
    ...(r[27] !== null && { code: textOf(r[27]) }),
    status: textOf(r[5]) as StoredStatus,
    head: Number(r[6]),
    createdAt: Number(r[7]),
    updatedAt: Number(r[8]),
    ...(parent === null ? {} : { parent: { runId: textOf(parent), seq: Number(parentSeq) } }),
    meta: new Uint8Array(r[19] as Buffer),
    ...(owner === null ? {} : { claim: { workerId: textOf(owner), remainingMs: Number(remaining) } }),
    claims: Number(r[24]),
    deaths: Number(r[25]),
    deathsSinceRest: Number(r[26]),
    hasMessages: r[13] === 1,
    hasForks: r[20] === 1,
    hasTags: r[21] === 1,
    prunedBelow: Number(r[14]),
    schedule: {
      queue: textOf(r[15]),
      priority: Number(r[17]),
      dueAt: Number(r[18]),
      ...(queueKey === null ? {} : { key: textOf(queueKey) }),
    },
    ...(refusals.length > 0 && { refusals }),
  };
}

const keyOf = ({ tenant, runId }: RunKey): RunKey => ({ tenant, runId });

/** Reads a cursor, which is numbers between dots. @throws USAGE_INVALID */
function readCursor(cursor: string | undefined, parts: number): readonly number[] {
  if (cursor === undefined) return [];
  const numbers = cursor.split('.').map(Number);
  if (numbers.length === parts && numbers.every(Number.isSafeInteger)) return numbers;
  throw new CairnError('USAGE_INVALID', { reason: `${cursor} is not a cursor of this store` });
}

const pageSize = 100;

type Reads = Pick<
  Store,
  | 'readIdentity'
  | 'readTime'
  | 'readRun'
  | 'findRuns'
  | 'countRuns'
  | 'countOpen'
  | 'listRuns'
  | 'readCheckpoints'
  | 'readSnapshot'
  | 'readMessages'
  | 'hasMessage'
  | 'listWaits'
  | 'readTags'
  | 'listWorkers'
>;

function createReads(server: RedisServer): Reads {
  return {
    readIdentity: async () => textOf((await server.call('identity', {}))[0]),
    readTime: async () => Number((await server.call('time', {}))[0]),
    readRun: async (key) => {
      const [row] = await server.call('run', keyOf(key));
      return row === null ? undefined : toRunRow(row);
    },
    findRuns: async (tenant, prefix, limit) =>
      listOf((await server.call('find', { tenant, prefix, limit }))[0]).map(toRunRow),
    countRuns: (query) => countRuns(server, query),
    countOpen: (tenant) => countOpen(server, tenant),
    listRuns: (query) => listRuns(server, query),
    readCheckpoints: async (key, { from, to, limit = Infinity }) => {
      const query = { ...keyOf(key), from: bounded(from), to: bounded(to), limit: bounded(limit) };
      const [rows] = await server.call('checkpoints', query);
      return listOf(rows).map((row) => ({ seq: Number(listOf(row)[0]), ...asCheckpoint(listOf(row)[1]) }));
    },
    readSnapshot: async (key, atOrBefore) => {
      const [found] = await server.call('snapshot', { ...keyOf(key), seq: bounded(atOrBefore) });
      if (found === null) return undefined;
      const { body, checksum } = asCheckpoint(listOf(found)[1]);
      return { seq: Number(listOf(found)[0]), body, checksum };
    },
    readMessages: async (key) =>
      listOf((await server.call('messages', keyOf(key)))[0]).map((row) => {
        const [id, kind, name, bytes] = listOf(row);
        return { id: Number(id), kind: textOf(kind) as 'answer', name: textOf(name), ...unpackRow(bytes) };
      }),
    hasMessage: async (key, { kind, name }) =>
      Number((await server.call('hasMessage', { ...keyOf(key), kind, name }))[0]) === 1,
    listWaits: (query) => listWaits(server, query),
    readTags: async (key) => {
      const flat = listOf((await server.call('tags', keyOf(key)))[0]);
      const tags = flat.flatMap((name, i) =>
        i % 2 === 0 ? [{ bytes: name as Buffer, seq: Number(flat[i + 1]) }] : [],
      );
      tags.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
      return tags.map(({ bytes, seq }) => ({ name: bytes.toString(), seq }));
    },
    listWorkers: async (tenant) =>
      listOf((await server.call('workers', { tenant }))[0]).map((row) => {
        const [id, graphs, seenAt, remaining, body] = listOf(row);
        return {
          tenant,
          workerId: textOf(id),
          graphs: JSON.parse(textOf(graphs)) as GraphCodes,
          seenAt: Number(seenAt),
          remainingMs: Number(remaining),
          body: new Uint8Array(body as Buffer),
        };
      }),
  };
}

/** The server looks at a part of the runs in each call. Ends: each call begins after the one before. */
async function listRuns(server: RedisServer, query: RunQuery): Promise<Page<RunRow>> {
  const { status, limit = pageSize } = query;
  const fixed = { ...fixedQuery(query), status };
  let [before = Number.MAX_SAFE_INTEGER] = readCursor(query.cursor, 1);
  const rows: Reply[] = [];
  for (;;) {
    const [found, stopped] = await server.call('list', { ...fixed, before, limit: limit - rows.length });
    rows.push(...listOf(found));
    before = Number(stopped);
    if (rows.length > limit || before === 0) break;
  }
  const page = rows.slice(0, limit);
  const last = listOf(page.at(-1))[23];
  return {
    rows: page.map(toRunRow),
    ...(rows.length > limit && last !== undefined ? { cursor: String(Number(last)) } : {}),
  };
}

async function listWaits(server: RedisServer, query: WaitQuery): Promise<Page<OpenWait>> {
  const { tenant, runId, kinds, dueBy, isAnswered, limit = pageSize } = query;
  const fixed = { tenant, runId, kinds, isAnswered, ...(dueBy === undefined ? {} : { dueBy: bounded(dueBy) }) };
  let [due, order] = readCursor(query.cursor, 2);
  const rows: Reply[] = [];
  for (;;) {
    const [found, more] = await server.call('waits', { ...fixed, due, order, limit: limit - rows.length });
    rows.push(...listOf(found));
    if (rows.length > limit || more === null) break;
    [due, order] = listOf(more).map(Number);
  }
  const last = listOf(rows[limit - 1]);
  return {
    rows: rows.slice(0, limit).map((row) => {
      const [dueAt, , ofRun, graphId, waitId, kind, bytes] = listOf(row);
      const { at: _, ...rest } = unpackRow(bytes);
      return {
        tenant,
        runId: textOf(ofRun),
        graphId: textOf(graphId),
        waitId: textOf(waitId),
        kind: textOf(kind) as WaitRow['kind'],
        ...(Number(dueAt) === never ? {} : { dueAt: Number(dueAt) }),
        ...rest,
      };
    }),
    ...(rows.length > limit && last.length > 0 ? { cursor: `${Number(last[0])}.${Number(last[1])}` } : {}),
  };
}

type Wake = (key: RunKey) => void;

/** Waits as the server takes them, and their bytes. */
const waitQuery = (waits: readonly WaitRow[]): readonly unknown[] =>
  waits.map(({ waitId, kind, dueAt }) => [waitId, kind, dueAt ?? never]);

const fenced = ({ runId, token }: { runId: string; token: number }, current: Reply | undefined): CairnError =>
  new CairnError('CLAIM_FENCED', { runId, token, current: Number(current) });

type Writes = Pick<
  Store,
  | 'setIdentity'
  | 'admitRun'
  | 'removeRun'
  | 'commit'
  | 'writeSnapshot'
  | 'postMessage'
  | 'clearDelivery'
  | 'labelRun'
  | 'tagCheckpoint'
  | 'removeTag'
  | 'pruneRun'
  | 'noteWorker'
>;

function createWrites(server: RedisServer, wake: Wake): Writes {
  return {
    setIdentity: async (identity) => void (await server.call('setIdentity', { identity })),
    admitRun: (admission) => writeAdmission(server, admission, wake),
    removeRun: async (key, leaves) => {
      await server.call('remove', { ...keyOf(key), ...leaves }, [], (word, [owner, remaining]) => {
        const { runId } = key;
        if (word === 'HISTORY_HAS_FORKS')
          return new CairnError(word, { runId, forks: listOf(owner).map((fork) => textOf(fork)) });
        if (word !== 'CLAIM_TAKEN') return notFound(key);
        return new CairnError(word, { runId, owner: textOf(owner), remainingMs: Number(remaining) });
      });
    },
    commit: (commit) => writeCommit(server, commit, wake),
    writeSnapshot: async (key, snapshot) => {
      const { seq } = snapshot;
      await server.call('snapshotAt', { ...keyOf(key), seq }, [packRow(snapshot)], () => noCheckpoint(key.runId, seq));
    },
    postMessage: async (message) => {
      const { tenant, runId, kind, name, at, seats = [], isForOpen, admission } = message;
      const query = { tenant, runId, kind, name, at, seats, isForOpen, blobs: message.blobs };
      const first = admission && { admission: admissionQuery(admission) };
      const bytes = [packRow(message), ...(admission === undefined ? [] : admissionBytes(admission))];
      const [status, ...rest] = await server.call('post', { ...query, ...first }, bytes, (word, line) =>
        word === 'RUN_EXPIRED' ? expiredError(toRemoved(runId, line)) : notFound(message),
      );
      return toMessageReply(textOf(status), rest, () => wake(message));
    },
    clearDelivery: async (key, waitId) => void (await server.call('clear', { ...keyOf(key), waitId })),
    ...createRedisNames(server),
    pruneRun: async (prune) => {
      const { tenant, runId, token, remove, replace, snapshots, prunedBelow } = prune;
      const seqs = { replace: replace.map(({ seq }) => seq), snapshots: snapshots.map(({ seq }) => seq) };
      const bytes = [...replace, ...snapshots].map((row) => packRow(row));
      await server.call(
        'prune',
        { tenant, runId, token, remove, ...seqs, prunedBelow },
        bytes,
        (word, [current, seq]) =>
          word === 'CLAIM_FENCED'
            ? fenced(prune, current)
            : new CairnError('COMMIT_CONFLICT', { runId, seq: Number(seq), head: Number(current) }),
      );
    },
    noteWorker: async ({ tenant, workerId, graphs, aliveMs, body }) => {
      const query = { tenant, workerId, graphs: JSON.stringify(graphs), aliveMs };
      await server.call('note', query, [Buffer.from(body)]);
    },
  };
}

/** What became of a message. @param wake - called if it was stored */
function toMessageReply(status: string, [first, holder]: readonly Reply[], wake: () => void): MessageReply {
  const reply = status as MessageReply['status'] | 'created';
  if (reply === 'accepted' || reply === 'created') wake();
  if (reply === 'created') return { status: 'accepted', created: true };
  if (reply === 'seated') return { status: reply, seat: textOf(first), holder: textOf(holder) };
  return reply === 'taken' ? { status: reply, first: new Uint8Array(first as Buffer) } : { status: reply };
}

function admissionQuery(admission: Admission): object {
  const { key, graphId, graphHash, code, status, parent, checkpoint, waits, claim, labels = {} } = admission;
  const { tenant, runId } = admission;
  const { queue, priority, key: queueKey } = scheduleOf(admission);
  return {
    tenant,
    runId,
    key,
    graphId,
    graphHash,
    code,
    status,
    queue,
    priority,
    queueKey,
    due: admission.schedule?.dueAt,
    parentRun: parent?.runId,
    parentSeq: parent?.seq,
    seq: checkpoint.seq,
    at: checkpoint.at,
    labels: Object.entries(labels),
    waits: waitQuery(waits),
    revives: admission.revives,
    blobs: admission.blobs === undefined ? undefined : (blobsOfAdmission(admission) ?? []),
    defines: admission.defines,
    ...claim,
  };
}

const admissionBytes = ({ meta, checkpoint, waits }: Admission): readonly Buffer[] => [
  Buffer.from(meta),
  packRow(checkpoint),
  ...waits.map((wait) => packRow(wait)),
];

async function writeAdmission(server: RedisServer, admission: Admission, wake: Wake): Promise<AdmissionReply> {
  const { tenant, runId, parent, claim } = admission;
  const bytes = admissionBytes(admission);
  const [created, row, token] = await server.call('admit', admissionQuery(admission), bytes, (word, line) =>
    word === 'RUN_EXPIRED'
      ? expiredError(toRemoved(runId, line))
      : noCheckpoint(parent?.runId ?? runId, parent?.seq ?? 0),
  );
  if (created === 1 && claim === undefined) wake(admission);
  const granted = created === 1 && claim ? { claim: { tenant, runId, ...claim, token: Number(token) } } : {};
  return { created: created === 1, run: toRunRow(row), ...granted };
}

/** One atomic call: the fence is checked where the rows are written. Commits of one turn go out together. */
async function writeCommit(server: RedisServer, commit: Commit, wake: Wake): Promise<{ isHeld: boolean }> {
  const { claim, checkpoint, openWaits, closeWaits, takeMessages, status, graphHash, code, releases } = commit;
  const { tenant, runId, token } = claim;
  const { seq, at } = checkpoint;
  const query = {
    tenant,
    runId,
    token,
    seq,
    at,
    status,
    graphHash,
    code,
    releases,
    close: closeWaits,
    take: takeMessages,
    waits: openWaits && waitQuery(openWaits),
    blobs: blobsOfCommit(commit),
  };
  const bytes = [packRow(checkpoint), ...(openWaits ?? []).map((wait) => packRow(wait))];
  if (commit.beginsEffects === true) server.warnOfLimit();
  const [isHeld] = await server.call('commit', query, bytes, (word, [current]) =>
    word === 'CLAIM_FENCED'
      ? fenced(claim, current)
      : new CairnError('COMMIT_CONFLICT', { runId, seq, head: Number(current) }),
  );
  if (releases === true) wake(claim);
  return { isHeld: isHeld === 1 };
}

type Claims = Pick<Store, 'claimRun' | 'claimNext' | 'listClaimable' | 'renewClaims' | 'releaseClaim'>;

function createClaims(server: RedisServer, wake: Wake): Claims {
  const toGranted = (
    token: Reply | undefined,
    row: Reply | undefined,
    by: Pick<Claim, 'workerId' | 'leaseMs'>,
  ): GrantedClaim => {
    const run = toRunRow(row);
    const { workerId, leaseMs } = by;
    return { claim: { tenant: run.tenant, runId: run.runId, workerId, leaseMs, token: Number(token) }, run };
  };
  const nextQuery = ({
    tenant,
    at,
    graphs,
    queues,
    codes = {},
    isPinned,
    except = [],
    limit,
  }: ClaimableQuery): object => ({
    tenant,
    graphs,
    queues,
    codes,
    isPinned,
    except,
    limit,
    ...(at === undefined ? {} : { at: bounded(at) }),
  });
  return {
    claimRun: async (request) => {
      const { tenant, runId, workerId, leaseMs, takeFrom } = request;
      const query = { tenant, runId, workerId, leaseMs, takeFrom };
      const [token, row, remaining] = await server.call('claim', query, [], () => notFound(request));
      if (token === 0) return { owner: textOf(row), remainingMs: Number(remaining) };
      return toGranted(token, row, request);
    },
    claimNext: async (request) => {
      const { workerId, leaseMs } = request;
      const [granted] = await server.call('next', { ...nextQuery(request), workerId, leaseMs });
      return listOf(granted).map((one) => toGranted(listOf(one)[0], listOf(one)[1], request));
    },
    listClaimable: async (query) =>
      listOf((await server.call('claimable', nextQuery(query)))[0]).map((id) => textOf(id)),
    renewClaims: async (claims) => {
      if (claims.length === 0) return [];
      const query = claims.map(({ tenant, runId, token, leaseMs }) => [tenant, runId, token, leaseMs]);
      return listOf((await server.call('renew', { claims: query }))[0]).map((one) => {
        const [isHeld, rest] = listOf(one);
        return isHeld === 1 ? { isHeld: true, hasMessages: rest === 1 } : { isHeld: false, current: Number(rest) };
      });
    },
    releaseClaim: async (claim, refusedBy) => {
      const { tenant, runId, token } = claim;
      const [isReleased] = await server.call('release', { tenant, runId, token, refusedBy });
      if (isReleased === 1) wake(claim);
    },
  };
}

/** Hears of runs that may have become claimable: the functions that write them publish it. A hint, so users go on polling. */
class WakeUps {
  readonly #server: RedisServer;
  readonly #watchers = new Watchers();
  readonly #tenants = new Set<string>();
  #hasListened = false;
  #retry: NodeJS.Timeout | undefined;
  #stop: (() => void) | undefined;
  #isClosed = false;
  /** Whether writes of other processes are heard just now. */
  isListening = false;

  constructor(server: RedisServer) {
    this.#server = server;
  }

  watch(tenant: string, wake: (runId?: string) => void): () => void {
    this.#tenants.add(tenant);
    if (!this.#hasListened) {
      this.#hasListened = true;
      void this.#listen(firstRetryMs);
    }
    return this.#watchers.add(tenant, wake);
  }

  /** Wakes those who watch here, where the server does not. */
  wake({ tenant, runId }: RunKey): void {
    if (!this.isListening) this.#watchers.wake(tenant, runId);
  }

  async #listen(retryMs: number): Promise<void> {
    let isLost = false;
    const lose = (): void => {
      if (isLost) return;
      isLost = true;
      this.isListening = false;
      if (this.#isClosed) return;
      this.#retry = setTimeout(
        () => void this.#listen(Math.min(retryMs * 2, retryMaxMs)),
        retryMs * (0.5 + Math.random() / 2),
      );
      this.#retry.unref();
    };
    try {
      const client = await this.#server.open(lose);
      this.#stop = () => client.destroy();
      await client.subscribe(`${this.#server.prefix}wake`, (message) => {
        const [tenant = '', runId = ''] = readWakeUp(message);
        this.#watchers.wake(tenant, runId);
      });
    } catch {
      return lose();
    }
    if (this.#isClosed) return this.#stop?.();
    this.isListening = !isLost;
    // What was written while the connection was lost woke nobody.
    if (retryMs > firstRetryMs) for (const tenant of this.#tenants) this.#watchers.wake(tenant);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#stop?.();
    this.#stop = undefined;
  }
}
