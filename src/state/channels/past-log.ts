/** Earlier states of cells, kept only while an open view needs them. */
import type { Cell, Past } from './cell.ts';

export class PastLog {
  #lastId = 0;
  /** Ids of open views, oldest first. */
  readonly #open = new Set<number>();
  /** Oldest first. The entries of one cell are in the same order. */
  #entries: Past[] = [];
  #head = 0;

  get isWatched(): boolean {
    return this.#open.size > 0;
  }

  /** Whether no value has changed since the oldest open view was opened. */
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

  /** Whether a cell's state must be kept before it changes: a view is open that no entry of the cell serves. */
  needs(cell: Cell): boolean {
    return this.isWatched && (cell.lastPast?.viewId ?? 0) < this.#lastId;
  }

  /** Keeps a cell's state before it changes. `length`: the value is a list that will grow, with this length. */
  note(cell: Cell, value: unknown, length: number): void {
    const { fold, version } = cell;
    const entry: Past = { cell, viewId: this.#lastId, value, length, version, fold, next: undefined };
    if (cell.lastPast === undefined) cell.firstPast = entry;
    else cell.lastPast.next = entry;
    cell.lastPast = entry;
    this.#entries.push(entry);
  }

  /** The cell's state for a view; undefined if that is its current state. */
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
