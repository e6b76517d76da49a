/** Writes of whole runs and of what belongs to them, except for commits and claims. */
import { CairnError } from '../../errors.ts';
import { scheduleOf } from '../../ports/schedule.ts';
import type {
  Admission,
  AdmissionReply,
  Message,
  MessageReply,
  Prune,
  RunKey,
  SnapshotRow,
  TagRow,
} from '../../ports/store.ts';
import { copyWait } from './commit-lane.ts';
import { isOfValues } from './database.ts';
import { readRun } from './run-reads.ts';
import {
  fromText,
  keyOf,
  modeOf,
  modeTable,
  runColumns,
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
 */
const admit = `
  with ${modeTable('$1')},
  a as materialized (
    select g.*, b.meta, b.checksum, b.body
    from json_to_recordset($2::text::json) as g(i int, tenant text, run_id text, key text, graph_id text, graph_hash text,
      status smallint, seq bigint, at bigint, parent_run text, parent_seq bigint, queue text, queue_key text, priority bigint,
      due bigint, wait_at bigint, owner text, lease bigint)
    join unnest($3::bytea[], $4::bytea[], $5::bytea[]) with ordinality as b(meta, checksum, body, n) on b.n = g.i + 1),
  parent as materialized (
    select a.i from a join S.runs p on p.tenant = a.tenant and p.run_id = a.parent_run
    join S.checkpoints c on c.run = p.no and c.seq = a.parent_seq for key share of p, c),
  made as (
    insert into S.runs as r (tenant, run_id, key, graph_id, graph_hash, status, head, created_at, updated_at, parent_run,
      parent_seq, queue, queue_key, priority, due, wait_at, meta, claims, token, owner, lease_until)
    select tenant, run_id, key, graph_id, graph_hash, status, seq, at, at, parent_run, parent_seq, queue, queue_key, priority,
      case when due is null then least(at, S.now_ms()) else due end, wait_at, meta,
      case when owner is null then 0 else 1 end, case when owner is null then 0 else nextval('S.tokens') end, owner,
      case when owner is null then 0 else S.now_ms() + lease end
    from a where parent_run is null or exists (select 1 from parent where parent.i = a.i)
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
    from named join ${waitsTable('$9')} on w.i = named.i)
  select ${runColumns}, named.i, set from made r join named on named.no = r.no, mode`;

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
      const rows = await this.#tables.query<StoredRun & { i: number }>(admit, toValues(items));
      const made = new Map(rows.map((row) => [row.i, row]));
      for (const [i, item] of items.entries()) {
        const row = made.get(i);
        if (row !== undefined) item.resolve(toReply(item.admission, row));
        else await this.#settle(item);
      }
    } catch (error) {
      // Values of one run can be what the server refuses; then the others are written without it.
      if (items.length > 1 && isOfValues(error)) for (const item of items) await this.#write([item]);
      else for (const item of items) item.reject(error);
    }
  }

  /** One that was not made: its run is there already, or its parent is not. */
  async #settle({ admission, resolve, reject }: PendingAdmission): Promise<void> {
    const { parent } = admission;
    const run = await readRun(this.#tables, admission);
    if (run !== undefined) resolve({ created: false, run });
    else if (parent) reject(new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${parent.runId}@${parent.seq}` }));
    // It was removed meanwhile.
    else this.#pending.push({ admission, resolve, reject });
  }
}

function toReply({ tenant, runId, claim }: Admission, row: StoredRun): AdmissionReply {
  const granted = claim && { claim: { tenant, runId, ...claim, token: row.token } };
  return { created: true, run: toRunRow(row), ...granted };
}

function toValues(items: readonly PendingAdmission[]): readonly unknown[] {
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
  const { key, graphId, graphHash, status, parent, checkpoint, waits, claim } = admission;
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
  };
}

/** @throws RUN_NOT_FOUND, HISTORY_HAS_FORKS, CLAIM_TAKEN */
export async function removeRun(tables: Tables, key: RunKey): Promise<void> {
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
    for (const table of ['labels', 'checkpoints', 'snapshots', 'waits', 'messages', 'tags', 'refusals'])
      await query(`delete from S.${table} where run = $1`, [run.no]);
    await query(`delete from S.runs where no = $1`, [run.no]);
  });
}

/**
 * The first message of a kind and name wins. One that was taken is replaced where its wait was opened again, and after a cancel. The oldest
 * message's time is at most that of the server, so that a message of a clock that is ahead is not passed over.
 */
const post = `
  with run as materialized (select no from S.runs where tenant = $1 and run_id = $2 for no key update),
  wait as materialized (
    select w.run from S.waits w join run on w.run = run.no where $3 = 'answer' and w.wait_id = $4 for key share of w),
  first as materialized (
    select m.id, m.body, m.taken from S.messages m join run on m.run = run.no where m.kind = $3 and m.name = $4),
  inserted as (
    insert into S.messages (run, kind, name, at, checksum, body)
    select no, $3, $4, $5::bigint, $6::bytea, $7::bytea from run
    where not exists (select 1 from first) and ($3 <> 'answer' or exists (select 1 from wait))
    on conflict do nothing returning id),
  replaced as (
    update S.messages m set id = nextval('S.orders'), at = $5::bigint, checksum = $6::bytea, body = $7::bytea, taken = false
    from run, first where m.run = run.no and m.kind = $3 and m.name = $4 and m.id = first.id and m.taken and first.taken
      and ($3 = 'cancel' or exists (select 1 from wait)) returning m.id),
  stored as (select id from inserted union all select id from replaced),
  counted as (
    update S.runs set message_count = message_count + 1,
      message_at = least(message_at, $5::bigint, S.now_ms()) from run where runs.no = run.no and exists (select 1 from stored))
  select first.body as first, exists (select 1 from stored) as is_stored, exists (select 1 from wait) as is_open
  from run left join first on true`;

/** @throws RUN_NOT_FOUND */
export async function postMessage(tables: Tables, message: Message): Promise<MessageReply> {
  const { runId, kind, name, at, checksum } = message;
  const body = Buffer.from(message.body);
  const values = [...keyOf(message), kind, toText(name), at, checksum ? Buffer.from(checksum) : null, body];
  // Ends: a message that came between is found by the next try.
  for (;;) {
    const [row] = await tables.query<{ first: Uint8Array | null; is_stored: boolean; is_open: boolean }>(post, values);
    if (row === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    if (row.is_stored) return { status: 'accepted' };
    if (row.first !== null)
      return Buffer.compare(row.first, body) === 0
        ? { status: 'equal' }
        : { status: 'taken', first: toBytes(row.first) };
    if (kind === 'answer' && !row.is_open) return { status: 'closed' };
  }
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
