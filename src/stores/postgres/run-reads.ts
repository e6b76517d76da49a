/** Reads of runs and of what belongs to them. */
import type {
  CheckpointRow,
  MessageRow,
  OpenWait,
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

  /** Adds a value. @returns its parameter */
  parameter(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  get text(): string {
    return this.#texts.join(' and ');
  }
}

export async function listRuns(tables: Tables, query: RunQuery): Promise<Page<RunRow>> {
  const { tenant, status, graphId, parentRunId, labels = {}, since, until, limit = pageSize } = query;
  const [before = never] = readCursor(query.cursor, 1);
  const conditions = new Conditions(['r.tenant = $1', 'r.no < $2'], [toText(tenant), before]);
  conditions.add('r.status = any(?::smallint[])', status?.map(statusCode));
  conditions.add('r.graph_id = ?', graphId === undefined ? undefined : toText(graphId));
  conditions.add('r.parent_run = ?', parentRunId === undefined ? undefined : toText(parentRunId));
  conditions.add('r.created_at >= ?', since);
  conditions.add('r.created_at < ?', until);
  for (const [name, value] of Object.entries(labels)) {
    const of = `l.tenant = r.tenant and l.run = r.no and l.name = ${conditions.parameter(toText(name))}`;
    conditions.add(`exists (select 1 from S.labels l where ${of} and l.value = ?)`, toText(value));
  }
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

export async function readCheckpoints(
  tables: Tables,
  key: RunKey,
  { from, to, limit }: { readonly from: number; readonly to: number; readonly limit?: number },
): Promise<readonly CheckpointRow[]> {
  const rows = await tables.query<CheckpointRow>(
    `select seq, at, body, checksum from S.checkpoints where run = ${runNo} and seq between $3 and $4 order by seq limit $5`,
    [...keyOf(key), ...[from, to].map(toBigint), limit ?? null],
  );
  return rows.map(({ seq, at, body, checksum }) => ({ seq, at, body: toBytes(body), checksum: toBytes(checksum) }));
}

/** A number that a column of 64 bits can be compared with: callers name infinity for "all". */
const toBigint = (value: number): number => Math.max(-never, Math.min(never, Math.trunc(value)));

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
  const conditions = new Conditions(
    ['w.tenant = $1', '(w.due, w.id) > ($2::bigint, $3::bigint)'],
    [toText(tenant), due, id],
  );
  conditions.add('r.run_id = ?', runId === undefined ? undefined : toText(runId));
  conditions.add('w.kind = any(?::smallint[])', kinds?.map(kindCode));
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
