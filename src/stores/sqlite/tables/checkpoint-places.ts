/**
 * An index that finds checkpoints by run and seq. Entries are written for many checkpoints at once, so that a commit writes only the page
 * that it appends to. The newest checkpoints, which have no entry yet, are few enough to be searched.
 */

import type { CheckpointRow } from '../../../ports/store.ts';
import type { Prepare, Statement } from './prepare.ts';
import { corruptError } from '../sqlite-errors.ts';

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
 * SQL for the seq of a run's newest checkpoint, given `joinHead`. If a checkpoint that was seen or has an entry is gone, that is damage: it
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
    // In a file from before entries were counted, they are counted once.
    this.#countMore = prepare(
      `insert into placed (one, up_to) values (3, (select count(*) from places))
         on conflict (one) do update set up_to = up_to + ?`,
    );
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
    this.#countMore().run(more);
  }

  /** Notes that all checkpoints have an entry. Also called after a removal, because SQLite may reuse the newest ids. */
  #setUpTo(): void {
    this.#upTo = (this.#moveUpTo().get() as { up_to: number }).up_to;
  }
}
