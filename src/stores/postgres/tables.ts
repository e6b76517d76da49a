/** The tables of one schema: statements on them, and rows to and from the values of the port. */
import { CairnError } from '../../errors.ts';
import { openStatuses } from '../../ports/held-runs.ts';
import type {
  Durability,
  GrantedClaim,
  WorkerMismatch,
  RunKey,
  RunRow,
  StoredStatus,
  WaitRow,
} from '../../ports/store.ts';
import { isRunOver } from '../../state/tree.ts';
import type { Database, Query } from './database.ts';
import { ensureLayout, inSchema } from './layout.ts';
import { holdIfMoved } from './location.ts';

const statuses: readonly StoredStatus[] = ['running', 'cancelling', 'paused', 'completed', 'failed', 'cancelled'];
const waitKinds: readonly WaitRow['kind'][] = ['question', 'timer', 'signal', 'doubt', 'retry', 'delivery', 'refused'];

/** The number of a status. Those up to 1 go on by themselves, the next one if something comes. The layout names these numbers. */
export const statusCode = (status: StoredStatus): number => statuses.indexOf(status);
/** The numbers of the statuses of runs that are over, which follow one another to the last. */
export const endedCodes: readonly number[] = statuses.filter(isRunOver).map(statusCode);

export const kindCode = (kind: WaitRow['kind']): number => waitKinds.indexOf(kind);

/** Stands for "no due time". */
export const never: number = Number.MAX_SAFE_INTEGER;

/** Texts of Postgres hold no NUL. This keeps their order and their prefixes, and changes no letter that people use. */
export const toText = (text: string): string =>
  text.includes('\0') || text.includes('\x01')
    ? text.replaceAll('\x01', '\x01\x02').replaceAll('\0', '\x01\x01')
    : text;
export const fromText = (text: string): string =>
  text.includes('\x01') ? text.replaceAll('\x01\x01', '\0').replaceAll('\x01\x02', '\x01') : text;

/** Bytes to hand out: a plain array, which nobody else has. */
export const toBytes = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);
const toHex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');

/** Makes `set_config('synchronous_commit', …)` part of a statement, for that statement alone. Whoever uses it must read `mode`. */
export const modeTable = (parameter: string): string =>
  `mode as materialized (
    select set_config('synchronous_commit', coalesce(${parameter}::text, current_setting('synchronous_commit')), true) as set)`;

/** What a statement waits for: with `power` whatever the server is set to, otherwise not for the disk. */
export const modeOf = (durability: Durability): string | null => (durability === 'power' ? null : 'off');

/** Runs statements in which `S.` stands for the schema. The first one makes sure that the tables are there. */
export class Tables {
  readonly database: Database;
  readonly schema: string;
  readonly #texts = new Map<string, string>();
  #isReady: Promise<void> | undefined;

  constructor(database: Database, schema: string) {
    this.database = database;
    this.schema = schema;
  }

  readonly query: Query = async <Row>(text: string, values?: readonly unknown[]) => {
    await this.ready();
    return this.database.query<Row>(this.#write(text), values);
  };

  async transaction<Reply>(work: (query: Query) => Promise<Reply>): Promise<Reply> {
    await this.ready();
    return this.database.transaction((query) => work((text, values) => query(this.#write(text), values)));
  }

  /** The server's clock, in epoch ms. */
  async readTime(): Promise<number> {
    const [row] = await this.query<{ now: number }>(`select S.now_ms() as now`);
    return row?.now ?? Date.now();
  }

  /** Resolves when the server answers and has the tables. @throws STORE_UNAVAILABLE, STORE_VERSION_UNKNOWN, CONFIG_MISSING_PEER */
  ready(): Promise<void> {
    if (this.database.isClosed) return Promise.reject(new CairnError('STORE_CLOSED', { store: this.database.name }));
    this.#isReady ??= this.#open().catch((error: unknown) => {
      this.#isReady = undefined;
      throw error;
    });
    return this.#isReady;
  }

  async #open(): Promise<void> {
    await ensureLayout(this.database, this.schema);
    await holdIfMoved(this.database, this.schema, openStatuses.map(statusCode));
  }

  #write(text: string): string {
    let written = this.#texts.get(text);
    if (written === undefined) {
      written = inSchema(text, this.schema);
      this.#texts.set(text, written);
    }
    return written;
  }
}

/** A row of `runs` as {@link runColumns} reads it. */
export interface StoredRun {
  readonly no: number;
  readonly tenant: string;
  readonly run_id: string;
  readonly key: string;
  readonly graph_id: string;
  readonly graph_hash: string;
  readonly code: string | null;
  readonly status: number;
  readonly head: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly parent_run: string | null;
  readonly parent_seq: number | null;
  readonly token: number;
  readonly owner: string | null;
  readonly remaining: number;
  readonly claims: number;
  readonly deaths: number;
  readonly deaths_head: number;
  readonly deaths_unreleased: number;
  readonly message_count: number;
  readonly pruned_below: number;
  readonly queue: string;
  readonly queue_key: string | null;
  readonly priority: number;
  readonly due: number;
  readonly meta: Uint8Array;
  readonly has_forks: boolean;
  readonly has_tags: boolean;
  /** JSON list of `[by, at]`; null if there are none. */
  readonly refusals: string | null;
}

const plainColumns = [
  'no',
  'tenant',
  'run_id',
  'key',
  'graph_id',
  'graph_hash',
  'code',
  'status',
  'head',
  'created_at',
  'updated_at',
  'parent_run',
  'parent_seq',
  'token',
  'owner',
  'claims',
  'deaths',
  'deaths_head',
  'deaths_unreleased',
  'message_count',
  'pruned_below',
  'queue',
  'queue_key',
  'priority',
  'due',
  'meta',
];

/**
 * The columns of a run, for a table that is called `r` in the statement. Forks and tags are looked for run by run: of `exists` the server
 * would make a table of all there are.
 */
export const runColumns: string = `${plainColumns.map((column) => `r.${column}`).join(', ')},
  r.lease_until - S.now_ms() as remaining,
  (select 1 from S.runs f where f.tenant = r.tenant and f.parent_run = r.run_id limit 1) is not null as has_forks,
  (select 1 from S.tags t where t.run = r.no limit 1) is not null as has_tags,
  (select json_agg(json_build_array(f.refused_by, f.at) order by f.at)::text from S.refusals f
    where f.run = r.no and f.head = r.head) as refusals`;

export function toRunRow(run: StoredRun): RunRow {
  const { parent_run: parent, parent_seq: seq, owner, queue_key: key } = run;
  return {
    tenant: fromText(run.tenant),
    runId: fromText(run.run_id),
    key: fromText(run.key),
    graphId: fromText(run.graph_id),
    graphHash: fromText(run.graph_hash),
    ...(run.code !== null && { code: fromText(run.code) }),
    status: statuses[run.status] ?? 'failed',
    head: run.head,
    createdAt: run.created_at,
    updatedAt: run.updated_at,
    ...(parent === null || seq === null ? {} : { parent: { runId: fromText(parent), seq } }),
    meta: toBytes(run.meta),
    ...(owner === null || run.remaining <= 0
      ? {}
      : { claim: { workerId: fromText(owner), remainingMs: run.remaining } }),
    claims: run.claims,
    deaths: run.deaths_head === run.head ? run.deaths : 0,
    deathsSinceRest: run.deaths_unreleased,
    hasMessages: run.message_count > 0,
    hasForks: run.has_forks,
    hasTags: run.has_tags,
    prunedBelow: run.pruned_below,
    schedule: {
      queue: fromText(run.queue),
      priority: run.priority,
      dueAt: run.due,
      ...(key === null ? {} : { key: fromText(key) }),
    },
    ...(run.refusals === null ? {} : { refusals: readRefusals(run.refusals) }),
  };
}

const readRefusals = (json: string): readonly WorkerMismatch[] =>
  (JSON.parse(json) as [string, number][]).map(([by, at]) => ({ by: fromText(by), at }));

export function toGranted(run: StoredRun, workerId: string, leaseMs: number): GrantedClaim {
  const row = toRunRow(run);
  const { tenant, runId } = row;
  return { claim: { tenant, runId, workerId, token: run.token, leaseMs }, run: row };
}

/** The key of a run, as statements take it. */
export const keyOf = ({ tenant, runId }: RunKey): readonly [string, string] => [toText(tenant), toText(runId)];

/** The number of a run, by its key in the first two parameters. */
export const runNo = `(select no from S.runs where tenant = $1 and run_id = $2)`;

/** Waits as JSON, which one parameter takes for any number of them. `i` says which run of the statement they belong to. */
export const waitsToJson = (waits: readonly WaitRow[], i: number): readonly object[] =>
  waits.map(({ waitId, kind, dueAt = never, body, checksum }) => ({
    i,
    wait_id: toText(waitId),
    kind: kindCode(kind),
    due: dueAt,
    body: toHex(body),
    checksum: checksum === undefined ? null : toHex(checksum),
  }));

/** Declares the columns of {@link waitsToJson}. */
export const waitsTable = (parameter: string): string =>
  `json_to_recordset(${parameter}::text::json) as w(i int, wait_id text, kind smallint, due bigint, body text, checksum text)`;

export function toWaitRow(row: {
  readonly wait_id: string;
  readonly kind: number;
  readonly due: number;
  readonly body: Uint8Array;
  readonly checksum: Uint8Array | null;
}): WaitRow {
  return {
    waitId: fromText(row.wait_id),
    kind: waitKinds[row.kind] ?? 'doubt',
    ...(row.due === never ? {} : { dueAt: row.due }),
    body: toBytes(row.body),
    ...(row.checksum === null ? {} : { checksum: toBytes(row.checksum) }),
  };
}

/** Reads a cursor, which is numbers between dots. @throws USAGE_INVALID */
export function readCursor(cursor: string | undefined, parts: number): readonly number[] {
  if (cursor === undefined) return [];
  const numbers = cursor.split('.').map(Number);
  if (numbers.length === parts && numbers.every(Number.isSafeInteger)) return numbers;
  throw new CairnError('USAGE_INVALID', { reason: `${cursor} is not a cursor of this store` });
}
