/** Reads of runs and of what belongs to them. */
import type { CodeCount, OpenCounts } from '../../ports/run-counts.ts';
import type {
  CountQuery,
  MessageRow,
  OpenWait,
  StoredStatus,
  Page,
  RunKey,
  RunQuery,
  RunRow,
  SnapshotRow,
  TagRow,
  WaitQuery,
} from '../../ports/store.ts';
import {
  fromText,
  keyOf,
  kindCode,
  never,
  readCursor,
  runColumns,
  runNo,
  statusCode,
  toBytes,
  toRunRow,
  toText,
  toWaitRow,
  type StoredRun,
  type Tables,
} from './tables.ts';

const pageSize = 100;

export async function readRun(tables: Tables, key: RunKey): Promise<RunRow | undefined> {
  const [run] = await tables.query<StoredRun>(
    `select ${runColumns} from S.runs r where r.tenant = $1 and r.run_id = $2`,
    keyOf(key),
  );
  return run && toRunRow(run);
}

/** Texts that begin with a prefix, as a range of an index: `chr(1114111)` is the last letter there is. */
const beginsWith = (column: string): string => `(${column} >= $2 and ${column} < $2 || chr(1114111))`;

export async function findRuns(
  tables: Tables,
  tenant: string,
  prefix: string,
  limit: number,
): Promise<readonly RunRow[]> {
  const runs = await tables.query<StoredRun>(
    `select ${runColumns} from S.runs r where r.tenant = $1 and (${beginsWith('r.run_id')} or ${beginsWith('r.key')})
    order by r.run_id limit $3`,
    [toText(tenant), toText(prefix), limit],
  );
  return runs.map(toRunRow);
}

/** Collects the conditions of a listing, and their values. */
class Conditions {
  readonly values: unknown[];
  readonly #texts: string[];

  constructor(texts: readonly string[], values: readonly unknown[]) {
    this.#texts = [...texts];
    this.values = [...values];
  }

  /** Adds a condition in which `?` stands for the value. An undefined value adds nothing. */
  add(text: string, value: unknown): void {
    if (value === undefined) return;
    this.#texts.push(text.replaceAll('?', `$${this.values.push(value)}`));
  }

  /** Adds a condition without a value of its own. */
  require(text: string): void {
    this.#texts.push(text);
  }

  /** Adds a value. @returns its parameter */
  parameter(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  get text(): string {
    return this.#texts.join(' and ');
  }
}

/** What makes a run one that a query is about, on whatever page. */
function conditionsOf({ tenant, status, graphId, parentRunId, labels = {}, since, until }: RunQuery): Conditions {
  const conditions = new Conditions(['r.tenant = $1'], [toText(tenant)]);
  conditions.add('r.status = any(?::smallint[])', status?.map(statusCode));
  conditions.add('r.graph_id = ?', graphId === undefined ? undefined : toText(graphId));
  conditions.add('r.parent_run = ?', parentRunId === undefined ? undefined : toText(parentRunId));
  conditions.add('r.created_at >= ?', since);
  conditions.add('r.created_at < ?', until);
  for (const [name, value] of Object.entries(labels)) {
    const of = `l.tenant = r.tenant and l.run = r.no and l.name = ${conditions.parameter(toText(name))}`;
    conditions.add(`exists (select 1 from S.labels l where ${of} and l.value = ?)`, toText(value));
  }
  return conditions;
}

export async function countRuns(tables: Tables, { exceptIds = [], ...query }: CountQuery): Promise<number> {
  const conditions = conditionsOf(query);
  for (const prefix of exceptIds)
    conditions.add('not (r.run_id >= ? and r.run_id < ? || chr(1114111))', toText(prefix));
  const { text, values } = conditions;
  const [row] = await tables.query<{ n: number }>(`select count(*)::int as n from S.runs r where ${text}`, values);
  return row?.n ?? 0;
}

export async function listRuns(tables: Tables, query: RunQuery): Promise<Page<RunRow>> {
  const { limit = pageSize } = query;
  const [before = never] = readCursor(query.cursor, 1);
  const conditions = conditionsOf(query);
  conditions.add('r.no < ?', before);
  const { text } = conditions;
  const runs = await tables.query<StoredRun>(
    `select ${runColumns} from S.runs r where ${text} order by r.no desc limit ${conditions.parameter(limit + 1)}`,
    conditions.values,
  );
  const last = runs[limit - 1];
  return {
    rows: runs.slice(0, limit).map(toRunRow),
    ...(last !== undefined && runs.length > limit ? { cursor: String(last.no) } : {}),
  };
}

/** No more waits, or open runs by their code, are counted. In the order of their index, so that it is walked and not the table with their bodies. */
const countedMax = 100_000;

export async function countOpen(tables: Tables, tenant: string): Promise<OpenCounts> {
  const of = (status: StoredStatus): string =>
    `(select count(*) from S.runs where tenant = $1 and status = ${statusCode(status)})::int as ${status}`;
  const [row] = await tables.query<Record<'running' | 'cancelling' | 'paused' | 'waits' | 'overdue', number>>(
    `select ${of('running')}, ${of('cancelling')}, ${of('paused')},
      (select count(*) from (select kind from S.waits where tenant = $1 order by due, id limit ${countedMax}) w
        where kind <> ${kindCode('delivery')})::int as waits,
      (select count(*) from S.waits where tenant = $1 and due <= S.now_ms())::int as overdue`,
    [toText(tenant)],
  );
  const { running = 0, cancelling = 0, paused = 0, waits = 0, overdue = 0 } = row ?? {};
  return { runs: { running, cancelling, paused }, waits, overdue };
}

export async function countCodes(
  tables: Tables,
  tenant: string,
  graphs: readonly string[],
): Promise<readonly CodeCount[]> {
  const open = ['running', 'cancelling', 'paused'] as const;
  const rows = await tables.query<{ graph_id: string; code: string; runs: number }>(
    `select graph_id, code, count(*)::int as runs from (
      select graph_id, coalesce(code, graph_hash) as code from S.runs
      where tenant = $1 and status in (${open.map(statusCode).join(', ')}) and graph_id = any($2::text[]) limit ${countedMax}) r
    group by graph_id, code order by graph_id, code`,
    [toText(tenant), graphs.map(toText)],
  );
  return rows.map(({ graph_id, code, runs }) => ({ graphId: fromText(graph_id), code: fromText(code), runs }));
}

/** A number that a column of 64 bits can be compared with: callers name infinity for "all". */
export const toBigint = (value: number): number => Math.max(-never, Math.min(never, Math.trunc(value)));

export async function readSnapshot(tables: Tables, key: RunKey, atOrBefore: number): Promise<SnapshotRow | undefined> {
  const [row] = await tables.query<SnapshotRow>(
    `select seq, body, checksum from S.snapshots where run = ${runNo} and seq <= $3 order by seq desc limit 1`,
    [...keyOf(key), toBigint(atOrBefore)],
  );
  return row && { seq: row.seq, body: toBytes(row.body), checksum: toBytes(row.checksum) };
}

export async function readMessages(tables: Tables, key: RunKey): Promise<readonly MessageRow[]> {
  const rows = await tables.query<Omit<MessageRow, 'checksum'> & { readonly checksum: Uint8Array | null }>(
    `select id, kind, name, body, at, checksum from S.messages where run = ${runNo} and not taken order by id`,
    keyOf(key),
  );
  return rows.map(({ id, kind, name, body, at, checksum }) => ({
    id,
    kind,
    name: fromText(name),
    body: toBytes(body),
    at,
    ...(checksum === null ? {} : { checksum: toBytes(checksum) }),
  }));
}

export async function hasMessage(
  tables: Tables,
  key: RunKey,
  { kind, name }: Pick<MessageRow, 'kind' | 'name'>,
): Promise<boolean> {
  const query = `select 1 from S.messages where run = ${runNo} and kind = $3 and name = $4`;
  return (await tables.query(query, [...keyOf(key), kind, toText(name)])).length > 0;
}

interface StoredWait {
  readonly id: number;
  readonly tenant: string;
  readonly run_id: string;
  readonly graph_id: string;
  readonly wait_id: string;
  readonly kind: number;
  readonly due: number;
  readonly body: Uint8Array;
  readonly checksum: Uint8Array | null;
}

const answered = `exists (select 1 from S.messages m
  where m.run = w.run and m.kind = 'answer' and m.name = w.wait_id and not m.taken)`;

export async function listWaits(tables: Tables, query: WaitQuery): Promise<Page<OpenWait>> {
  const { tenant, runId, kinds, dueBy, isAnswered, limit = pageSize } = query;
  const [due = -never, id = -1] = readCursor(query.cursor, 2);
  const conditions = new Conditions(['(w.due, w.id) > ($2::bigint, $3::bigint)'], [toText(tenant), due, id]);
  // The waits of one run are found by its number; those of a tenant in the order of their due times.
  if (runId === undefined) conditions.require('w.tenant = $1');
  else conditions.add('w.run = (select no from S.runs where tenant = $1 and run_id = ?)', toText(runId));
  if (kinds === undefined) conditions.add('w.kind <> ?', kindCode('delivery'));
  else conditions.add('w.kind = any(?::smallint[])', kinds.map(kindCode));
  conditions.add('w.due <= ?', dueBy === undefined ? undefined : toBigint(dueBy));
  conditions.add(`${answered} = ?::boolean`, isAnswered);
  const { text } = conditions;
  const rows = await tables.query<StoredWait>(
    `select w.id, w.wait_id, w.kind, w.due, w.checksum, w.body, r.tenant, r.run_id, r.graph_id
    from S.waits w join S.runs r on r.no = w.run where ${text}
    order by w.due, w.id limit ${conditions.parameter(limit + 1)}`,
    conditions.values,
  );
  const last = rows[limit - 1];
  return {
    rows: rows.slice(0, limit).map((row) => ({
      tenant: fromText(row.tenant),
      runId: fromText(row.run_id),
      graphId: fromText(row.graph_id),
      ...toWaitRow(row),
    })),
    ...(last !== undefined && rows.length > limit ? { cursor: `${last.due}.${last.id}` } : {}),
  };
}

export async function readTags(tables: Tables, key: RunKey): Promise<readonly TagRow[]> {
  const rows = await tables.query<TagRow>(
    `select name, seq from S.tags where run = ${runNo} order by name`,
    keyOf(key),
  );
  return rows.map(({ name, seq }) => ({ name: fromText(name), seq }));
}
