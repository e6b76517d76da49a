/** What cells were before they changed, kept only as long as an open view needs it. */
import type { Cell, Past } from './cell.ts';

export class PastLog {
  #lastId = 0;
  /** Open views, oldest first. */
  readonly #open = new Set<number>();
  /** Oldest first; a cell's entries are in the same order. */
  #entries: Past[] = [];
  #head = 0;

  get isWatched(): boolean {
    return this.#open.size > 0;
  }

  /** Whether every value is what it was when any open view opened. */
  get isEmpty(): boolean {
    return this.#head === this.#entries.length;
  }

  open(): number {
    this.#lastId += 1;
    this.#open.add(this.#lastId);
    return this.#lastId;
  }

  close(viewId: number): void {
    if (!this.#open.delete(viewId) || this.isEmpty) return;
    const oldest = this.#open.size === 0 ? Number.POSITIVE_INFINITY : (this.#open.values().next().value as number);
    for (let entry = this.#entries[this.#head]; entry !== undefined && entry.viewId < oldest;) {
      dropFirst(entry.cell);
      this.#head += 1;
      entry = this.#entries[this.#head];
    }
    if (this.#head < 1_000 && !this.isEmpty) return;
    this.#entries = this.#entries.slice(this.#head);
    this.#head = 0;
  }

  /** Whether a change of the cell must be noted: a view is open that no entry of the cell serves yet. */
  needs(cell: Cell): boolean {
    return this.isWatched && (cell.lastPast?.viewId ?? 0) < this.#lastId;
  }

  /** Notes what a cell is, before it changes. `length`: the value is a list that will grow. */
  note(cell: Cell, value: unknown, length: number): void {
    const { fold, version } = cell;
    const entry: Past = { cell, viewId: this.#lastId, value, length, version, fold, next: undefined };
    if (cell.lastPast === undefined) cell.firstPast = entry;
    else cell.lastPast.next = entry;
    cell.lastPast = entry;
    this.#entries.push(entry);
  }

  /** What the cell was for a view; undefined: what it is now. */
  find(cell: Cell, viewId: number): Past | undefined {
    let entry = cell.firstPast;
    while (entry !== undefined && entry.viewId < viewId) entry = entry.next;
    return entry;
  }
}

function dropFirst(cell: Cell): void {
  cell.firstPast = cell.firstPast?.next;
  if (cell.firstPast === undefined) cell.lastPast = undefined;
}
