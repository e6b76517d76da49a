/**
 * Where each checkpoint is. An index of runs and seqs is written for many checkpoints at once, so that a commit writes the page it appends
 * to and no other; the newest ones, which have no place in the index yet, are few enough to be looked through.
 */

import type { CheckpointRow } from '../../../ports/store.ts';
import type { Prepare, Statement } from './prepare.ts';
import { corruptError } from '../sqlite-errors.ts';

/** So many checkpoints wait for their places at most. */
export const unplacedMax = 64;

/** As many checkpoints are looked through for those of one run that lost their places: a few milliseconds. */
const behindMax = 1_000;

/** The condition of a checkpoint that has no place yet. */
export const isUnplaced: string = 'id > (select up_to from placed where one = 1)';

/** Joins the newest checkpoint of a run `r` as `h`; a run whose checkpoints are lost stays in the list. */
export const joinHead: string = `left join checkpoints h on h.id = coalesce(
  (select id from checkpoints where ${isUnplaced} and run = r.no order by id desc limit 1),
  (select id from places where run = r.no order by seq desc limit 1))`;

/**
 * The seq of the newest checkpoint of a run `r`, given those of `joinHead`. One that was seen, or has a place, and is not there any more is
 * damage: it stays the head, so that whoever reads it is told, and no run goes on from an older state.
 */
export const headSeq = (seen: string): string =>
  `max(coalesce(h.seq, 0), ${seen}, coalesce((select max(seq) from places where run = r.no), 0))`;

export class CheckpointPlaces {
  /** Checkpoints up to this id have a place; undefined: not known in this transaction. */
  #upTo: number | undefined;
  #nextNo: number | undefined;
  #version = -1;
  /** Whether as many places are there as were written: looked at once, as a file is damaged while nobody has it open. */
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
    // Every run has a checkpoint, so this is a number that no run has.
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
    // A file from before they were counted is counted once.
    this.#countMore = prepare(
      `insert into placed (one, up_to) values (3, (select count(*) from places))
         on conflict (one) do update set up_to = up_to + ?`,
    );
    this.#selectLost = prepare('select 1 from placed where one = 3 and up_to > (select count(*) from places)');
  }

  /** A transaction has begun; the version is another one if another connection has written since the last. */
  beginTransaction(version: number): void {
    if (version !== this.#version) this.forget();
    this.#version = version;
  }

  /** Nothing that was learned in this transaction came to be. */
  forget(): void {
    this.#upTo = undefined;
    this.#nextNo = undefined;
  }

  /** A number for a new run, which no checkpoint has. */
  takeRunNo(): number {
    const no = this.#nextNo ?? (this.#selectNextNo().get() as { no: number }).no;
    this.#nextNo = no + 1;
    return no;
  }

  append(run: number, { seq, at, checksum, body }: CheckpointRow): void {
    const { lastInsertRowid } = this.#insert().run(run, seq, at, checksum, body);
    if (Number(lastInsertRowid) - this.#readUpTo() >= unplacedMax) this.#placeAll();
  }

  /** The id of a checkpoint. */
  find(run: number, seq: number): number | undefined {
    const row = this.#selectPlace().get(run, seq) ?? this.#selectUnplaced().get(this.#readUpTo(), run, seq);
    return (row as { id: number } | undefined)?.id;
  }

  /**
   * Whether a checkpoint of the run behind this one may have lost its place. Looked for among those written after it, as far as that is
   * quick; behind them, any place that was lost may be one of this run.
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

  /** So many places more are there. */
  #count(more: number | bigint): void {
    this.#countMore().run(more);
  }

  /** All that are there have a place. After a removal too, since SQLite may give the ids of the newest ones again. */
  #setUpTo(): void {
    this.#upTo = (this.#moveUpTo().get() as { up_to: number }).up_to;
  }
}
