/** Writes of whole runs and of what belongs to them, except for commits and claims. */
import { CairnError } from '../../errors.ts';
import { blobsOfAdmission } from '../../ports/blob-references.ts';
import type { Remembrance } from '../../ports/removals.ts';
import { expiredError } from '../../ports/removed-runs.ts';
import { scheduleOf } from '../../ports/schedule.ts';
import type {
  Admission,
  AdmissionReply,
  Message,
  MessageReply,
  Prune,
  Relabelling,
  RunKey,
  SnapshotRow,
  TagRow,
} from '../../ports/store.ts';
import { copyWait } from './commit-lane.ts';
import { isOfValues, sqlStateOf, type Query } from './database.ts';
import { noteReferences } from './references.ts';
import { readRemoved, remember, tablesOfRun } from './removals.ts';
import { readRun } from './run-reads.ts';
import {
  fromText,
  keyOf,
  modeOf,
  modeTable,
  runColumns,
  endedCodes,
  statusCode,
  toBytes,
  toRunRow,
  toText,
  waitsTable,
  waitsToJson,
  type StoredRun,
  type Tables,
} from './tables.ts';

/**
 * Admissions of one turn. A run that is to be due at once is so by the server's clock too: a worker whose clock is ahead makes nobody wait.
 * The parent's checkpoint is locked until the fork is written. Runs are written in one order, so that no two statements wait for each other.
 *
 * Whether a run of this id was removed is looked at again when the row is there: the statement may have waited for that removal, and then
 * fails ({@link removedMeanwhile}).
 */
const admitting = (names: boolean): string => `
  with ${modeTable('$1')},
  a as materialized (
    select g.*, b.meta, b.checksum, b.body
    from json_to_recordset($2::text::json) as g(i int, tenant text, run_id text, key text, graph_id text, graph_hash text,
      code text, status smallint, seq bigint, at bigint, parent_run text, parent_seq bigint, queue text, queue_key text, priority bigint,
      due bigint, wait_at bigint, owner text, lease bigint, revives boolean, is_read boolean)
    join unnest($3::bytea[], $4::bytea[], $5::bytea[]) with ordinality as b(meta, checksum, body, n) on b.n = g.i + 1),
  parent as materialized (
    select a.i from a join S.runs p on p.tenant = a.tenant and p.run_id = a.parent_run
    join S.checkpoints c on c.run = p.no and c.seq = a.parent_seq for key share of p, c),
  made as (
    insert into S.runs as r (tenant, run_id, key, graph_id, graph_hash, code, status, head, created_at, updated_at, parent_run,
      parent_seq, queue, queue_key, priority, due, wait_at, meta, ended_at, claims, read_claims, token, owner, lease_until)
    select tenant, run_id, key, graph_id, graph_hash, code, status, seq, at, at, parent_run, parent_seq, queue, queue_key, priority,
      case when due is null then least(at, S.now_ms()) else due end, wait_at, meta,
      case when status >= ${statusCode('completed')} then at end, case when owner is null then 0 else 1 end,
      case when not is_read then -1 when owner is null then 0 else 1 end, case when owner is null then 0 else nextval('S.tokens') end, owner,
      case when owner is null then 0 else S.now_ms() + lease end
    from a where (parent_run is null or exists (select 1 from parent where parent.i = a.i))
      and (revives or not exists (
        select 1 from S.removed x where x.tenant = a.tenant and x.run_id = a.run_id and x.until > S.now_ms()))
    order by tenant, run_id
    on conflict (tenant, run_id) do nothing returning r.*),
  named as materialized (select made.no, a.* from made join a on a.tenant = made.tenant and a.run_id = made.run_id),
  written as (
    insert into S.checkpoints (run, seq, at, checksum, body) select no, seq, at, checksum, body from named),
  labelled as (
    insert into S.labels (tenant, name, value, run) select named.tenant, l.name, l.value, named.no
    from named join unnest($6::int[], $7::text[], $8::text[]) as l(i, name, value) on l.i = named.i),
  opened as (
    insert into S.waits (run, wait_id, tenant, kind, due, checksum, body)
    select named.no, w.wait_id, named.tenant, w.kind, w.due, decode(w.checksum, 'hex'), decode(w.body, 'hex')
    from named join ${waitsTable('$9')} on w.i = named.i),
  ${names ? `${notedByAdmission},` : ''}
  forgotten as (
    delete from S.removed x using named where named.revives and x.tenant = named.tenant and x.run_id = named.run_id)
  select ${runColumns}, named.i, set, 1 / (case when named.revives or not S.is_removed(r.tenant, r.run_id) then 1 else 0 end)
  from made r join named on named.no = r.no, mode`;

const notedByAdmission = `noted as (${noteReferences(`
    select named.tenant, n.hash, named.no, 1 from named join json_to_recordset($10::text::json) as n(i int, hash text) on n.i = named.i`)}),
  defining as (
    insert into S.definitions (tenant, hash, graph_id)
    select distinct named.tenant, n.hash, named.graph_id
    from named join json_to_recordset($11::text::json) as n(i int, hash text) on n.i = named.i on conflict do nothing)`;
const [admit, admitNaming] = [admitting(false), admitting(true)];

/** SQLSTATE of the division in {@link admitting}: the run was removed while it was admitted. */
const removedMeanwhile = '22012';

/** Admissions of this many runs share a statement at most. */
const admissionsMax = 128;

interface PendingAdmission {
  readonly admission: Admission;
  readonly resolve: (reply: AdmissionReply) => void;
  readonly reject: (error: unknown) => void;
}

/** Admits runs. Admissions of one turn share a statement; each is accepted or refused by itself. */
export class AdmissionLane {
  readonly #tables: Tables;
  #pending: PendingAdmission[] = [];
  #isRunning = false;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  admit(source: Admission): Promise<AdmissionReply> {
    const { meta, checkpoint, waits } = source;
    const admission: Admission = {
      ...source,
      meta: Buffer.from(meta),
      checkpoint: copyRow(checkpoint),
      waits: waits.map(copyWait),
    };
    return new Promise((resolve, reject) => {
      this.#pending.push({ admission, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Admissions of the same turn come before this.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#pending.length > 0) await this.#write(this.#take());
    this.#isRunning = false;
  }

  /** Takes pending admissions, one of a run. */
  #take(): readonly PendingAdmission[] {
    const taken = new Map<string, PendingAdmission>();
    const rest: PendingAdmission[] = [];
    for (const item of this.#pending) {
      const key = JSON.stringify(keyOf(item.admission));
      if (taken.has(key) || taken.size >= admissionsMax) rest.push(item);
      else taken.set(key, item);
    }
    this.#pending = rest;
    return [...taken.values()];
  }

  async #write(items: readonly PendingAdmission[]): Promise<void> {
    try {
      const rows = await queryAdmitted(this.#tables, this.#tables.query, items, (names) =>
        rememberDefinitions(this.#tables, names),
      );
      const made = new Map(rows.map((row) => [row.i, row]));
      for (const [i, item] of items.entries()) {
        const row = made.get(i);
        if (row !== undefined) item.resolve(toReply(item.admission, row));
        else await this.#settle(item);
      }
    } catch (error) {
      // Values of one run can be what the server refuses; then the others are written without it.
      const [only] = items;
      if (only !== undefined && items.length === 1 && sqlStateOf((error as Error).cause) === removedMeanwhile)
        return this.#settle(only);
      if (items.length > 1 && isOfValues(error)) for (const item of items) await this.#write([item]);
      else for (const item of items) item.reject(error);
    }
  }

  /** One that was not made: its run is there already or was removed, or its parent is not there. */
  async #settle({ admission, resolve, reject }: PendingAdmission): Promise<void> {
    const { parent } = admission;
    const run = await readRun(this.#tables, admission);
    const line = run === undefined ? await readRemoved(this.#tables, admission) : undefined;
    if (run !== undefined) resolve({ created: false, run });
    else if (line !== undefined && admission.revives !== true) reject(expiredError(line));
    else if (parent) reject(new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${parent.runId}@${parent.seq}` }));
    // It was removed meanwhile.
    else this.#pending.push({ admission, resolve, reject });
  }
}

/** What is known to be noted of graphs, by store; it stays. */
const recordedDefinitions = new WeakMap<Tables, Set<string>>();
const recordedDefinitionsMax = 10_000;

type Admitted = StoredRun & { readonly i: number };

/**
 * Writes admissions. Those that name blobs, as few do, have a statement of their own, as has the first of a graph. What is noted of that is
 * durable then, since others rely on it. @param tell - called with what was noted
 */
async function queryAdmitted(
  tables: Tables,
  query: Query,
  items: readonly Pick<PendingAdmission, 'admission'>[],
  tell?: (names: readonly string[]) => void,
): Promise<readonly Admitted[]> {
  const known = recordedDefinitions.get(tables);
  const names = items.flatMap(({ admission }, i) =>
    [...(blobsOfAdmission(admission) ?? [])].map((hash) => ({ i, hash })),
  );
  const defines = items.flatMap(({ admission: { tenant, graphId, defines: hashes = [] } }, i) =>
    [...hashes].map((hash) => ({ i, hash, name: JSON.stringify([tenant, graphId, hash]) })),
  );
  const isNew = ({ name }: { readonly name: string }): boolean => known?.has(name) !== true;
  const fresh = defines.filter(isNew);
  if (names.length + fresh.length === 0) return query<Admitted>(admit, toValues(items));
  const [mode, ...values] = toValues(items);
  const own = [JSON.stringify(names), JSON.stringify(fresh.map(({ i, hash }) => ({ i, hash })))];
  const made = await query<Admitted>(admitNaming, [fresh.length > 0 ? modeOf('power') : mode, ...values, ...own]);
  tell?.(fresh.filter(({ i }) => made.some((row) => row.i === i)).map(({ name }) => name));
  return made;
}

function rememberDefinitions(tables: Tables, names: readonly string[]): void {
  const known = recordedDefinitions.get(tables) ?? new Set<string>();
  recordedDefinitions.set(tables, known);
  if (known.size >= recordedDefinitionsMax) known.clear();
  for (const name of names) known.add(name);
}

function toReply({ tenant, runId, claim }: Admission, row: StoredRun): AdmissionReply {
  const granted = claim && { claim: { tenant, runId, ...claim, token: row.token } };
  return { created: true, run: toRunRow(row), ...granted };
}

function toValues(items: readonly Pick<PendingAdmission, 'admission'>[]): readonly unknown[] {
  const all = items.map(({ admission }) => admission);
  const labels = all.flatMap(({ labels = {} }, i) =>
    Object.entries(labels).map(([name, value]) => ({ i, name, value })),
  );
  return [
    // A token that a crash of the server took back could be granted again.
    modeOf(all.some(({ claim, durability }) => claim !== undefined || durability === 'power') ? 'power' : 'process'),
    JSON.stringify(all.map(describeAdmission), (_, value: unknown) =>
      typeof value === 'string' ? value.toWellFormed() : value,
    ),
    all.map(({ meta }) => meta),
    all.map(({ checkpoint }) => checkpoint.checksum),
    all.map(({ checkpoint }) => checkpoint.body),
    labels.map(({ i }) => i),
    labels.map(({ name }) => toText(name)),
    labels.map(({ value }) => toText(value)),
    JSON.stringify(all.flatMap(({ waits }, i) => waitsToJson(waits, i))),
  ];
}

function describeAdmission(admission: Admission, i: number): object {
  const { key, graphId, graphHash, code, status, parent, checkpoint, waits, claim } = admission;
  const schedule = scheduleOf(admission);
  const [tenant, run_id] = keyOf(admission);
  const dues = waits.flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt]));
  return {
    i,
    tenant,
    run_id,
    key: toText(key),
    graph_id: toText(graphId),
    graph_hash: toText(graphHash),
    ...(code !== undefined && { code: toText(code) }),
    status: statusCode(status),
    seq: checkpoint.seq,
    at: checkpoint.at,
    ...(parent && { parent_run: toText(parent.runId), parent_seq: parent.seq }),
    queue: toText(schedule.queue),
    ...(schedule.key !== undefined && { queue_key: toText(schedule.key) }),
    priority: schedule.priority,
    ...(admission.schedule?.dueAt !== undefined && { due: admission.schedule.dueAt }),
    ...(dues.length > 0 && { wait_at: Math.min(...dues) }),
    ...(claim && { owner: toText(claim.workerId), lease: claim.leaseMs }),
    revives: admission.revives === true,
    is_read: admission.blobs !== undefined,
  };
}

/** @throws RUN_NOT_FOUND, HISTORY_HAS_FORKS, CLAIM_TAKEN */
export async function removeRun(tables: Tables, key: RunKey, leaves?: Remembrance): Promise<void> {
  const { runId } = key;
  await tables.transaction(async (query) => {
    const [run] = await query<{ no: number; owner: string | null; remaining: number }>(
      `select no, owner, lease_until - S.now_ms() as remaining from S.runs where tenant = $1 and run_id = $2 for update`,
      keyOf(key),
    );
    if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    if (run.owner !== null && run.remaining > 0)
      throw new CairnError('CLAIM_TAKEN', { runId, owner: fromText(run.owner), remainingMs: run.remaining });
    const forks = await query<{ run_id: string }>(
      `select run_id from S.runs where tenant = $1 and parent_run = $2 order by no`,
      keyOf(key),
    );
    if (forks.length > 0)
      throw new CairnError('HISTORY_HAS_FORKS', { runId, forks: forks.map(({ run_id }) => fromText(run_id)) });
    if (leaves !== undefined) await remember(query, key.tenant, [runId], leaves);
    for (const table of tablesOfRun) await query(`delete from S.${table} where run = $1`, [run.no]);
    await query(`delete from S.runs where no = $1`, [run.no]);
  });
}

/**
 * The first message of a kind and name wins. One that was taken is replaced where its wait was opened again, and after a cancel. The oldest
 * message's time is at most that of the server, so that a message of a clock that is ahead is not passed over.
 */
const posting = (names: boolean): string => `
  with run as materialized (select no, status from S.runs where tenant = $1 and run_id = $2 for no key update),
  ended as materialized (select 1 from run where $9 and status = any($10::smallint[])),
  wait as materialized (
    select w.run from S.waits w join run on w.run = run.no where $3 = 'answer' and w.wait_id = $4 for key share of w),
  first as materialized (
    select m.id, m.body, m.taken from S.messages m join run on m.run = run.no where m.kind = $3 and m.name = $4),
  seat as materialized (
    select s.name, m.body from unnest($8::text[]) s (name) cross join run
      left join S.messages m on m.run = run.no and m.kind = 'seat' and m.name = s.name),
  held as materialized (select name, body from seat where body <> convert_to($4, 'UTF8') limit 1),
  inserted as (
    insert into S.messages (run, kind, name, at, checksum, body, is_read)
    select no, $3, $4, $5::bigint, $6::bytea, $7::bytea, true from run
    where not exists (select 1 from first) and not exists (select 1 from held) and not exists (select 1 from ended)
      and ($3 <> 'answer' or exists (select 1 from wait))
    on conflict do nothing returning id),
  replaced as (
    update S.messages m set id = nextval('S.orders'), at = $5::bigint, checksum = $6::bytea, body = $7::bytea, taken = false, is_read = true
    from run, first where m.run = run.no and m.kind = $3 and m.name = $4 and m.id = first.id and m.taken and first.taken
      and not exists (select 1 from held) and ($3 = 'cancel' or exists (select 1 from wait)) returning m.id),
  stored as (select id from inserted union all select id from replaced),
  seated as (
    insert into S.messages (run, kind, name, at, body, taken, is_read)
    select run.no, 'seat', seat.name, $5::bigint, convert_to($4, 'UTF8'), true, true from run cross join seat
    where seat.body is null and exists (select 1 from stored)),
  ${
    names
      ? `noted as (${noteReferences(notedByMessage)}),
  `
      : ''
  }counted as (
    update S.runs set message_count = message_count + 1,
      message_at = least(message_at, $5::bigint, S.now_ms()) from run where runs.no = run.no and exists (select 1 from stored))
  select first.body as first, exists (select 1 from stored) as is_stored, exists (select 1 from wait) as is_open,
    exists (select 1 from ended) as is_ended, held.name as seat, convert_from(held.body, 'UTF8') as holder
  from run left join first on true left join held on true`;
const notedByMessage = `
    select $1, h.hash, run.no, 1 from run cross join unnest($11::text[]) h(hash) where exists (select 1 from stored)`;
const [post, postNaming] = [posting(false), posting(true)];

/** Writes a message. One that names blobs, as few do, has a statement of its own. */
function queryPosted(query: Query, message: Message): Promise<readonly PostReply[]> {
  const { blobs = [] } = message;
  const values = valuesOf(message);
  return blobs.length === 0 ? query(post, values) : query(postNaming, [...values, [...new Set(blobs)]]);
}

interface PostReply {
  readonly first: Uint8Array | null;
  readonly is_stored: boolean;
  readonly is_open: boolean;
  readonly is_ended: boolean;
  readonly seat: string | null;
  readonly holder: string | null;
}

/** Another message took a seat between the look and the write: this one was not written. */
const uniqueViolation = '23505';

/** @throws RUN_NOT_FOUND */
export async function postMessage(tables: Tables, message: Message): Promise<MessageReply> {
  const { runId, admission, seats = [] } = message;
  // Ends: a message that came between, the seat that one took, or the run that was admitted, is found by the next try.
  for (;;) {
    const rows = await queryPosted(tables.query, message).catch((error: unknown) => {
      if (seats.length === 0 || sqlStateOf((error as Error).cause) !== uniqueViolation) throw error;
    });
    if (rows === undefined) continue;
    const [row] = rows;
    const reply = row && toMessageReply(message, row);
    if (reply !== undefined) return reply;
    if (row !== undefined) continue;
    if (admission === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    const line = await readRemoved(tables, message);
    if (line !== undefined) throw expiredError(line);
    const isMade = await admitWith(tables, admission, message).catch((error: unknown) => {
      if (sqlStateOf((error as Error).cause) !== removedMeanwhile) throw error;
    });
    if (isMade === true) return { status: 'accepted', created: true };
  }
}

function valuesOf(message: Message): readonly unknown[] {
  const { kind, name, at, checksum, isForOpen = false } = message;
  const body = Buffer.from(message.body);
  const seats = (message.seats ?? []).map(toText);
  const row = [kind, toText(name), at, checksum ? Buffer.from(checksum) : null, body];
  return [...keyOf(message), ...row, seats, isForOpen, endedCodes];
}

/** Undefined: another message of this name was being written, and is found by the next try. */
function toMessageReply(message: Message, row: PostReply): MessageReply | undefined {
  if (row.is_stored) return { status: 'accepted' };
  if (row.first !== null)
    return Buffer.compare(row.first, message.body) === 0
      ? { status: 'equal' }
      : { status: 'taken', first: toBytes(row.first) };
  if (row.is_ended) return { status: 'ended' };
  if (message.kind === 'answer' && !row.is_open) return { status: 'closed' };
  if (row.seat === null) return undefined;
  return { status: 'seated', seat: fromText(row.seat), holder: fromText(row.holder ?? '') };
}

/** Admits a run and posts its first message, in one transaction. @returns false if somebody else admitted the run meanwhile */
function admitWith(tables: Tables, admission: Admission, message: Message): Promise<boolean> {
  return tables.transaction(async (query) => {
    const made = await queryAdmitted(tables, query, [{ admission }]);
    if (made.length === 0) return false;
    await queryPosted(query, message);
    return true;
  });
}

/** The checkpoint that a row is to refer to, locked so that no prune removes it meanwhile. */
const referred = `
  with found as materialized (
    select c.run, c.seq from S.checkpoints c join S.runs r on r.no = c.run
    where r.tenant = $1 and r.run_id = $2 and c.seq = $3::bigint for key share of c)`;

/** @throws CHECKPOINT_NOT_FOUND */
export async function writeSnapshot(tables: Tables, key: RunKey, { seq, body, checksum }: SnapshotRow): Promise<void> {
  const found = await tables.query(
    `${referred}, written as (
      insert into S.snapshots select run, seq, $4::bytea, $5::bytea from found on conflict do nothing)
    select 1 from found`,
    [...keyOf(key), seq, Buffer.from(checksum), Buffer.from(body)],
  );
  if (found.length === 0) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${key.runId}@${seq}` });
}

/** @throws CHECKPOINT_NOT_FOUND */
export async function tagCheckpoint(tables: Tables, key: RunKey, { name, seq }: TagRow): Promise<void> {
  const found = await tables.query(
    `${referred}, written as (
      insert into S.tags select run, $4, seq from found on conflict (run, name) do update set seq = excluded.seq)
    select 1 from found`,
    [...keyOf(key), seq, toText(name)],
  );
  if (found.length === 0) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${key.runId}@${seq}` });
}

/** @throws RUN_NOT_FOUND */
export async function labelRun(tables: Tables, change: Relabelling): Promise<boolean> {
  const [meta, oldMeta] = [Buffer.from(change.meta), Buffer.from(change.oldMeta)];
  const pairs = Object.entries(change.labels);
  const key = keyOf(change);
  return tables.transaction(async (query) => {
    const [run] = await query<{ no: number; meta: Buffer }>(
      `select no, meta from S.runs where tenant = $1 and run_id = $2 for update`,
      key,
    );
    if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: change.runId });
    if (!oldMeta.equals(run.meta)) return meta.equals(run.meta);
    await query(`update S.runs set meta = $2 where no = $1`, [run.no, meta]);
    await query(`delete from S.labels where run = $1`, [run.no]);
    await query(
      `insert into S.labels (tenant, name, value, run)
      select $1, l.name, l.value, $2 from unnest($3::text[], $4::text[]) as l(name, value)`,
      [key[0], run.no, pairs.map(([name]) => toText(name)), pairs.map(([, value]) => toText(value))],
    );
    return true;
  });
}

/** @throws CLAIM_FENCED, COMMIT_CONFLICT */
export async function pruneRun(tables: Tables, prune: Prune): Promise<void> {
  const { runId, token, prunedBelow } = prune;
  const remove = [...prune.remove];
  const replace = prune.replace.map(copyRow);
  const snapshots = prune.snapshots.map(copyRow);
  const key = keyOf(prune);
  await tables.transaction(async (query) => {
    const [run] = await query<{ no: number; token: number; head: number }>(
      `select no, token, head from S.runs where tenant = $1 and run_id = $2 for update`,
      key,
    );
    if (run?.token !== token) throw new CairnError('CLAIM_FENCED', { runId, token, current: run?.token ?? 0 });
    const conflict = (seq: number): CairnError => new CairnError('COMMIT_CONFLICT', { runId, seq, head: run.head });
    if (remove.includes(run.head)) throw conflict(run.head);
    const [needed] = await query<{ seq: number }>(
      `select seq from (
        select parent_seq as seq from S.runs where tenant = $1 and parent_run = $2
        union all select seq from S.tags where run = $3) n where seq = any($4::bigint[]) limit 1`,
      [...key, run.no, remove],
    );
    if (needed !== undefined) throw conflict(needed.seq);
    for (const { seq, at, checksum, body } of replace) {
      const replaced = await query(
        `update S.checkpoints set at = $3, checksum = $4, body = $5 where run = $1 and seq = $2 returning 1`,
        [run.no, seq, at, checksum, body],
      );
      if (replaced.length === 0) throw conflict(seq);
    }
    for (const table of ['checkpoints', 'snapshots'])
      await query(`delete from S.${table} where run = $1 and seq = any($2::bigint[])`, [run.no, remove]);
    for (const { seq, checksum, body } of snapshots)
      await query(`insert into S.snapshots values ($1, $2, $3, $4) on conflict do nothing`, [
        run.no,
        seq,
        checksum,
        body,
      ]);
    await query(`update S.runs set pruned_below = $2 where no = $1`, [run.no, prunedBelow]);
  });
}

const copyRow = <Row extends { readonly body: Uint8Array; readonly checksum: Uint8Array }>(row: Row): Row => ({
  ...row,
  body: Buffer.from(row.body),
  checksum: Buffer.from(row.checksum),
});
