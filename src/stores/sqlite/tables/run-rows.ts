/** Converts a run's row between the tables and the port. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { CairnError } from '../../../errors.ts';
import { isRunOver } from '../../../state/tree.ts';
import type { Message, MessageReply, CheckpointRow, RunRow, StoredStatus, WaitRow } from '../../../ports/store.ts';
import type { HostClock } from '../../host-clock.ts';
import { bytesOf, checkOf, type CheckedColumns } from './row-check.ts';
import { corruptError } from '../sqlite-errors.ts';

// Prepares statements on first use, so that a command that reads one page prepares only one statement.

/** A prepared statement. Values are bound by position to plain question marks, because Node 22 treats numbered ones as names. */
export type Statement = () => StatementSync;
/** Prepares a statement. With `shape` its rows are arrays, which take half the time. */
export type Prepare = (sql: string, shape?: 'arrays') => Statement;

export function createPrepare(db: DatabaseSync): Prepare {
  return (sql, shape) => {
    let statement: StatementSync | undefined;
    return () => {
      if (statement === undefined) {
        statement = db.prepare(sql);
        if (shape === 'arrays') statement.setReturnArrays(true);
      }
      return statement;
    };
  };
}

// Writes messages (answers, signals, cancel requests). The first of a name wins (O1).

/** Notes what a write of a run names, by the run's number. */
interface Noting {
  note(tenant: string, no: number, hashes: readonly string[] | undefined): void;
}

export class MessageWrite {
  readonly #selectRun: Statement;
  readonly #selectFirst: Statement;
  readonly #selectWait: Statement;
  readonly #remove: Statement;
  readonly #insert: Statement;
  readonly #insertSeat: Statement;
  readonly #references: Noting;

  constructor(prepare: Prepare, references: Noting) {
    this.#references = references;
    this.#selectRun = prepare('select no, status from runs where tenant = ? and run_id = ?');
    this.#selectFirst = prepare('select id, body, is_taken from messages where run = ? and kind = ? and name = ?');
    this.#selectWait = prepare('select 1 from waits where run = ? and wait_id = ?');
    this.#remove = prepare('delete from messages where id = ?');
    this.#insert = prepare(
      'insert into messages (run, kind, name, tenant, run_id, checksum, body, at, is_taken, is_read) values (?, ?, ?, ?, ?, ?, ?, ?, 0, 1)',
    );
    // A seat is a row of its own kind, taken from the start, with the name of the message that has it.
    this.#insertSeat = prepare(
      "insert into messages (run, kind, name, tenant, run_id, body, at, is_taken) values (?, 'seat', ?, ?, ?, ?, ?, 1)",
    );
  }

  /** Must be called inside of a transaction, in which the run of the message has been admitted. @throws RUN_NOT_FOUND */
  postMessage({ tenant, runId, kind, name, body, at, checksum, seats = [], isForOpen, blobs }: Message): MessageReply {
    const run = this.#selectRun().get(tenant, runId) as { no: number; status: number } | undefined;
    if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    const isOpen = kind === 'answer' && this.#selectWait().get(run.no, name) !== undefined;
    const first = this.#selectFirst().get(run.no, kind, name) as
      | { id: number; body: Uint8Array; is_taken: number }
      | undefined;
    // A wait that was opened again can be answered again, and after a cancel that was carried out another may follow.
    const isSpent = first?.is_taken === 1 && (isOpen || kind === 'cancel');
    if (first !== undefined && !isSpent) {
      const taken = bytesOf(first.body);
      return Buffer.compare(taken, body) === 0 ? { status: 'equal' } : { status: 'taken', first: taken };
    }
    if (isForOpen === true && isRunOver(statuses[run.status] ?? 'failed')) return { status: 'ended' };
    if (kind === 'answer' && !isOpen) return { status: 'closed' };
    const free: string[] = [];
    for (const seat of seats) {
      const seatRow = this.#selectFirst().get(run.no, 'seat', seat) as { body: Uint8Array } | undefined;
      const holder = seatRow && readText(bytesOf(seatRow.body));
      if (holder === undefined) free.push(seat);
      else if (holder !== name) return { status: 'seated', seat, holder };
    }
    for (const seat of free) this.#insertSeat().run(run.no, seat, tenant, runId, Buffer.from(name), at);
    if (first !== undefined) this.#remove().run(first.id);
    this.#insert().run(run.no, kind, name, tenant, runId, checksum ?? null, body, at);
    this.#references.note(tenant, run.no, blobs);
    return { status: 'accepted' };
  }
}

// An index that finds checkpoints by run and seq. Entries are written for many checkpoints at once, so that a commit writes only the page
// that it appends to. The newest checkpoints, which have no entry yet, are few enough to be searched.

/** The most checkpoints without an entry. */
export const unplacedMax = 64;

/** The most checkpoints to search for those of one run whose entries were lost. It takes a few milliseconds. */
export const behindMax = 1_000;

/** SQL condition for a checkpoint that has no entry yet. */
export const isUnplaced: string = 'id > (select up_to from placed where one = 1)';

/** SQL that joins the newest checkpoint of a run `r` as `h`. A run whose checkpoints are lost stays in the list. */
export const joinHead: string = `left join checkpoints h on h.id = coalesce(
  (select id from checkpoints where ${isUnplaced} and run = r.no order by id desc limit 1),
  (select id from places where run = r.no order by seq desc limit 1))`;

/**
 * SQL for the seq of a run's newest checkpoint, after `joinHead`. If a checkpoint that was seen or has an entry is gone, that is damage: it
 * still counts as the head, so that reading it reports the damage and no run goes on from an older state.
 */
export const headSeq = (seen: string): string =>
  `max(coalesce(h.seq, 0), ${seen}, coalesce((select max(seq) from places where run = r.no), 0))`;

export class CheckpointPlaces {
  /** Checkpoints up to this id have an entry; undefined if not known in this transaction. */
  #upTo: number | undefined;
  #nextNo: number | undefined;
  #version = -1;
  /** Whether there are as many entries as were written. Checked once, since a file is damaged while nobody has it open. */
  #arePlacesWhole: boolean | undefined;
  readonly #selectUpTo: Statement;
  readonly #selectNextNo: Statement;
  readonly #selectPlace: Statement;
  readonly #selectUnplaced: Statement;
  readonly #selectBehind: Statement;
  readonly #insert: Statement;
  readonly #place: Statement;
  readonly #moveUpTo: Statement;
  readonly #delete: Statement;
  readonly #deletePlace: Statement;
  readonly #deleteOfRun: Statement;
  readonly #deletePlacesOfRun: Statement;
  readonly #countMore: Statement;
  readonly #countAll: Statement;
  readonly #selectLost: Statement;

  constructor(prepare: Prepare) {
    this.#selectUpTo = prepare('select up_to from placed where one = 1');
    // Every run has a checkpoint, so this number belongs to no run.
    this.#selectNextNo = prepare(
      `select max(coalesce((select max(run) from places), 0),
         coalesce((select max(run) from checkpoints where ${isUnplaced}), 0)) + 1 as no`,
    );
    this.#selectPlace = prepare('select id from places where run = ? and seq = ?');
    this.#selectUnplaced = prepare('select id from checkpoints where id > ? and run = ? and seq = ?');
    this.#selectBehind = prepare('select 1 from checkpoints where id > ? and id <= ? and run = ? and seq > ? limit 1');
    this.#insert = prepare('insert into checkpoints (run, seq, at, checksum, body) values (?, ?, ?, ?, ?)');
    this.#place = prepare(
      'insert into places (run, seq, id) select run, seq, id from checkpoints where id > ? order by run, seq',
    );
    this.#moveUpTo = prepare(
      'update placed set up_to = (select coalesce(max(id), 0) from checkpoints) where one = 1 returning up_to',
    );
    this.#delete = prepare('delete from checkpoints where id = ?');
    this.#deletePlace = prepare('delete from places where run = ? and seq = ?');
    this.#deleteOfRun = prepare('delete from checkpoints where id in (select id from places where run = ?)');
    this.#deletePlacesOfRun = prepare('delete from places where run = ?');
    this.#countMore = prepare('update placed set up_to = up_to + ? where one = 3');
    // In a file from before entries were counted, they are counted once.
    this.#countAll = prepare('insert into placed (one, up_to) values (3, (select count(*) from places))');
    this.#selectLost = prepare('select 1 from placed where one = 3 and up_to > (select count(*) from places)');
  }

  /** Call when a transaction has begun. The version changes when another connection has written. */
  beginTransaction(version: number): void {
    if (version !== this.#version) this.forget();
    this.#version = version;
  }

  /** Drops what was learned in a transaction that was rolled back. */
  forget(): void {
    this.#upTo = undefined;
    this.#nextNo = undefined;
  }

  /** A number for a new run that no checkpoint has. */
  takeRunNo(): number {
    const no = this.#nextNo ?? (this.#selectNextNo().get() as { no: number }).no;
    this.#nextNo = no + 1;
    return no;
  }

  append(run: number, { seq, at, checksum, body }: CheckpointRow): void {
    const { lastInsertRowid } = this.#insert().run(run, seq, at, checksum, body);
    if (Number(lastInsertRowid) - this.#readUpTo() >= unplacedMax) this.#placeAll();
  }

  /** The row id of a checkpoint. */
  find(run: number, seq: number): number | undefined {
    const row = this.#selectPlace().get(run, seq) ?? this.#selectUnplaced().get(this.#readUpTo(), run, seq);
    return (row as { id: number } | undefined)?.id;
  }

  /**
   * Whether a later checkpoint of the run may have lost its entry. Searches the checkpoints written after this one, as far as that is
   * quick. Beyond that, any lost entry counts, because it may be one of this run.
   */
  hasBehind(run: number, seq: number): boolean {
    const id = this.find(run, seq);
    if (id === undefined) return false;
    if (this.#selectBehind().get(id, id + behindMax, run, seq) !== undefined) return true;
    if (this.#readUpTo() <= id + behindMax) return false;
    this.#arePlacesWhole ??= this.#selectLost().get() === undefined;
    return !this.#arePlacesWhole;
  }

  remove(run: number, seqs: readonly number[]): void {
    this.#placeAll();
    for (const seq of seqs) {
      const id = this.find(run, seq);
      if (id !== undefined) this.#delete().run(id);
      this.#count(-this.#deletePlace().run(run, seq).changes);
    }
    this.#setUpTo();
  }

  removeRun(run: number): void {
    this.#placeAll();
    this.#deleteOfRun().run(run);
    this.#count(-this.#deletePlacesOfRun().run(run).changes);
    this.#setUpTo();
  }

  #readUpTo(): number {
    const row = this.#upTo ?? (this.#selectUpTo().get() as { up_to: number } | undefined)?.up_to;
    if (row === undefined) throw corruptError('it does not know which checkpoints have a place');
    return (this.#upTo = row);
  }

  #placeAll(): void {
    this.#count(this.#place().run(this.#readUpTo()).changes);
    this.#setUpTo();
  }

  /** Adds to the number of entries. */
  #count(more: number | bigint): void {
    if (Number(this.#countMore().run(more).changes) === 0) this.#countAll().run();
  }

  /** Notes that all checkpoints have an entry. Also called after a removal, because SQLite may reuse the newest ids. */
  #setUpTo(): void {
    this.#upTo = (this.#moveUpTo().get() as { up_to: number }).up_to;
  }
}

// Reads text columns as bytes, because Node 22's driver cuts a text at a NUL character, which ids may contain.

/** A column as bytes under its own name, for a list of columns to select. */
export function asBytes(column: string): string {
  return `cast(${column} as blob) as ${column.slice(column.indexOf('.') + 1)}`;
}

/** A damaged file may give nothing in place of a text. */
export function readText(bytes: Uint8Array | null): string {
  if (bytes === null) return '';
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

/** A status is stored as its index in this list, which is part of the layout. The sixth marks runs that were never claimed. */
const statuses: readonly StoredStatus[] = [
  'running',
  'paused',
  'completed',
  'failed',
  'cancelled',
  'running',
  'cancelling',
];

export const waitingCode = 5;
export const cancellingCode = 6;

export const statusCode = (status: StoredStatus): number => statuses.indexOf(status);

/** The codes of runs that are over. */
export const endedCodes: readonly number[] = statuses.filter(isRunOver).map(statusCode);

/** The codes of runs that are advanced, of which there are as many as workers take up. */
export const activeCodes: readonly number[] = [statusCode('running'), cancellingCode];

/** The condition of the index `runs_by_graph`. SQLite uses the index only where it stands word by word. */
export const isAtRest: string = `status not in (${activeCodes.join(', ')})`;

/** The codes of these statuses; of all if there are none. */
export function codesOf(wanted?: readonly StoredStatus[]): number[] {
  return [...statuses.keys()].filter((code) => wanted === undefined || wanted.includes(statuses[code] ?? 'running'));
}

/** Due time of a wait that is never due, so that it sorts last. */
export const never: number = Number.MAX_SAFE_INTEGER;

export const dueOf = (wait: Pick<WaitRow, 'dueAt'>): number => wait.dueAt ?? never;

const texts = ['r.tenant', 'r.run_id', 'r.key', 'r.graph_id', 'r.graph_hash', 'r.parent_run', 'r.owner'];

/** Columns added in the third layout, and their replacements in files of an older one. */
const scheduleColumns = `r.priority, r.due, ${asBytes('r.queue')}, ${asBytes('r.queue_key')}`;
const noSchedule = "0 as priority, r.created_at as due, x'' as queue, null as queue_key";
/** The column added in the fourth layout, and its replacement in files of an older one. */
const checkColumn = 'r.check_value';
const noCheck = 'null as check_value';
/** The column with what came in the sixth layout: who could not go on with a run. Texts are hexadecimal, because they may contain NUL. */
const refusalsColumn =
  '(select json_group_array(json_array(hex(refused_by), at, head)) from refusals where run = r.no) as refusals';
const noRefusals = "'[]' as refusals";
/** The columns that came in the eighth layout. */
const deathsColumns = 'r.claims, r.deaths, r.deaths_head, r.deaths_unreleased';
const noDeaths = '(r.token > 0) as claims, 0 as deaths, 0 as deaths_head, 0 as deaths_unreleased';
/** The column that came in the ninth layout. */
const codeColumn = asBytes('r.code');
const noCode = 'null as code';

function readRefusals({ refusals, head }: StoredRun): Pick<RunRow, 'refusals'> {
  if (refusals === '[]') return {};
  const here = (JSON.parse(refusals) as [string, number, number][]).filter(([, , seq]) => seq === head);
  if (here.length === 0) return {};
  here.sort(([, a], [, b]) => a - b);
  return { refusals: here.map(([by, at]) => ({ by: Buffer.from(by, 'hex').toString(), at })) };
}

/**
 * The columns that `toRunRow` reads, of a run `r` and its head `h`. The head is looked up and not stored, so that a commit need not write
 * the run's row.
 */
export const runColumns = (layout: number): string => `
  r.no, r.status, r.created_at, r.parent_seq, r.meta, r.lease_until, ${layout < 7 ? '0 as lease_ms' : 'r.lease_ms'}, r.pruned_below, ${texts.map(asBytes).join(', ')},
  ${layout < 3 ? noSchedule : scheduleColumns}, ${layout < 4 ? noCheck : checkColumn}, ${headSeq(layout < 3 ? '0' : 'r.head_seen')} as head,
  h.at as updated_at,
  exists (select 1 from messages where run = r.no and is_taken = 0) as has_messages,
  ${layout < 6 ? noRefusals : refusalsColumn}, ${layout < 8 ? noDeaths : deathsColumns},
  ${layout < 9 ? noCode : codeColumn}`;

/** Columns that tell of forks and tags. They take as long as half of the others, so that only listings of forks have them. */
export const reportedColumns = `
  exists (select 1 from runs f indexed by runs_by_parent where f.tenant = r.tenant and f.parent_run = r.run_id) as has_forks,
  exists (select 1 from tags where run = r.no) as has_tags`;

export interface StoredRun extends CheckedColumns {
  readonly graph_hash: Uint8Array;
  readonly code: Uint8Array | null;
  readonly status: number;
  readonly owner: Uint8Array | null;
  readonly lease_until: number;
  readonly lease_ms: number;
  readonly pruned_below: number;
  readonly check_value: number | null;
  readonly claims: number;
  readonly deaths: number;
  readonly deaths_head: number;
  readonly deaths_unreleased: number;
  readonly head: number;
  readonly updated_at: number | null;
  readonly has_messages: number;
  readonly refusals: string;
  readonly has_forks?: number;
  readonly has_tags?: number;
}

/** Whether a row is not as it was written, as far as its check value and its status tell. */
export function isDamagedRow(row: StoredRun): boolean {
  return statuses[row.status] === undefined || (row.check_value !== null && row.check_value !== checkOf(row));
}

export function toRunRow(row: StoredRun, clock: HostClock): RunRow {
  const { parent_run, parent_seq, owner, queue_key } = row;
  const remainingMs = owner === null ? 0 : clock.leaseLeftMs(row.lease_until, row.lease_ms);
  return {
    tenant: readText(row.tenant),
    runId: readText(row.run_id),
    key: readText(row.key),
    graphId: readText(row.graph_id),
    graphHash: readText(row.graph_hash),
    ...(row.code !== null && { code: readText(row.code) }),
    status: statuses[row.status] ?? 'running',
    head: row.head,
    createdAt: row.created_at,
    updatedAt: row.updated_at ?? row.created_at,
    ...(parent_run === null || parent_seq === null ? {} : { parent: { runId: readText(parent_run), seq: parent_seq } }),
    meta: bytesOf(row.meta),
    ...(owner === null || remainingMs <= 0 ? {} : { claim: { workerId: readText(owner), remainingMs } }),
    ...(isDamagedRow(row) && { isDamaged: true as const }),
    claims: row.claims,
    deaths: row.deaths_head === row.head ? row.deaths : 0,
    deathsSinceRest: row.deaths_unreleased,
    hasMessages: row.has_messages === 1,
    ...(row.has_forks !== undefined && { hasForks: row.has_forks === 1 }),
    ...(row.has_tags !== undefined && { hasTags: row.has_tags === 1 }),
    prunedBelow: row.pruned_below,
    schedule: {
      queue: readText(row.queue),
      priority: row.priority,
      dueAt: row.due,
      ...(queue_key === null ? {} : { key: readText(queue_key) }),
    },
    ...readRefusals(row),
  };
}
