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
 * A run that is to be due at once is so by the server's clock too: a worker whose clock is ahead makes nobody wait. The parent's checkpoint is
 * locked until the fork is written.
 */
const admit = `
  with ${modeTable('$1')},
  parent as materialized (
    select c.run from S.runs p join S.checkpoints c on c.run = p.no and c.seq = $11::bigint
    where p.tenant = $2 and p.run_id = $10::text for key share of p, c),
  made as (
    insert into S.runs as r (tenant, run_id, key, graph_id, graph_hash, status, head, created_at, updated_at, parent_run,
      parent_seq, queue, queue_key, priority, due, wait_at, meta, token, owner, lease_until)
    select $2, $3, $4, $5, $6, $7::smallint, $8::bigint, $9::bigint, $9::bigint, $10, $11::bigint, $12, $13, $14::bigint,
      case when $15::bigint is null then least($9::bigint, S.now_ms()) else $15::bigint end, $16::bigint, $17::bytea,
      case when $18::text is null then 0 else nextval('S.tokens') end, $18,
      case when $18::text is null then 0 else S.now_ms() + $19::bigint end
    where $10::text is null or exists (select 1 from parent)
    on conflict (tenant, run_id) do nothing returning r.*),
  written as (
    insert into S.checkpoints (run, seq, at, checksum, body) select no, $8::bigint, $9::bigint, $20::bytea, $21::bytea from made),
  labelled as (
    insert into S.labels (tenant, name, value, run) select $2, l.name, l.value, made.no
    from made, unnest($22::text[], $23::text[]) as l(name, value)),
  opened as (
    insert into S.waits (run, wait_id, tenant, kind, due, checksum, body)
    select made.no, w.wait_id, made.tenant, w.kind, w.due, decode(w.checksum, 'hex'), decode(w.body, 'hex')
    from made, ${waitsTable('$24')})
  select ${runColumns}, set from made r, mode`;

export async function admitRun(tables: Tables, given: Admission): Promise<AdmissionReply> {
  const { tenant, runId, parent, claim } = given;
  const values = admissionValues(given);
  // Ends: a run of this id that another admission just made is found, unless it is removed again and again.
  for (;;) {
    const [made] = await tables.query<StoredRun>(admit, values);
    if (made !== undefined) {
      const granted = claim && { claim: { tenant, runId, ...claim, token: made.token } };
      return { created: true, run: toRunRow(made), ...granted };
    }
    const run = await readRun(tables, { tenant, runId });
    if (run !== undefined) return { created: false, run };
    if (parent) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${parent.runId}@${parent.seq}` });
  }
}

function admissionValues(given: Admission): readonly unknown[] {
  const { key, graphId, graphHash, status, parent, checkpoint, waits, claim, durability, labels = {} } = given;
  const schedule = scheduleOf(given);
  const dues = waits.flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt]));
  return [
    // A token that a crash of the server took back could be granted again.
    modeOf(claim === undefined ? durability : 'power'),
    ...keyOf(given),
    toText(key),
    toText(graphId),
    toText(graphHash),
    statusCode(status),
    checkpoint.seq,
    checkpoint.at,
    parent ? toText(parent.runId) : null,
    parent?.seq ?? null,
    toText(schedule.queue),
    schedule.key === undefined ? null : toText(schedule.key),
    schedule.priority,
    given.schedule?.dueAt ?? null,
    dues.length > 0 ? Math.min(...dues) : null,
    Buffer.from(given.meta),
    claim ? toText(claim.workerId) : null,
    claim?.leaseMs ?? 0,
    Buffer.from(checkpoint.checksum),
    Buffer.from(checkpoint.body),
    Object.keys(labels).map(toText),
    Object.values(labels).map(toText),
    JSON.stringify(waitsToJson(waits, 0)),
  ];
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
export async function pruneRun(tables: Tables, given: Prune): Promise<void> {
  const { runId, token, prunedBelow } = given;
  const remove = [...given.remove];
  const replace = given.replace.map(copyRow);
  const snapshots = given.snapshots.map(copyRow);
  const key = keyOf(given);
  await tables.transaction(async (query) => {
    const [run] = await query<{ no: number; token: number; head: number }>(
      `select no, token, head from S.runs where tenant = $1 and run_id = $2 for update`,
      key,
    );
    if (run?.token !== token) throw new CairnError('CLAIM_FENCED', { runId, held: token, current: run?.token ?? 0 });
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
