/** Decides when writing a snapshot pays off (C4). */

/** The cost of reading a checkpoint, as far as a snapshot could reduce it. */
export interface LoadCost {
  /** Bytes of the rows since the newest snapshot at or before it. */
  readonly deltaBytes: number;
  /** Rows since that snapshot. */
  readonly rows: number;
  /** The part of that cost caused by the run's own rows; the rest is caused by its ancestors'. */
  readonly ownCost: number;
  /** Bytes of the encoded state when it was last measured; 0 if it never was. */
  readonly stateBytes: number;
  /** Seq of that snapshot; undefined if there is none. */
  readonly snapshotSeq: number | undefined;
}

/** Reading, verifying and applying a row costs about as much as this many bytes of state, whatever is in it. */
export const rowBytes = 1024;

const dueFactor = 3;
const dueBytes = 64 * 1024;

/** The cost of reading rows, expressed in bytes of state. */
export function costOf(deltaBytes: number, rows: number): number {
  return deltaBytes + rows * rowBytes;
}

/**
 * Decides for one run when the engine writes a snapshot.
 *
 * A snapshot is due when it is smaller than a third of what was read since the previous one. Each commit earns half of its own cost for
 * snapshots, so due snapshots leave some of it over, which is spent on snapshots at pauses. In all, snapshots take at most half the bytes
 * of the deltas plus 0.5 KiB for each row.
 */
export class SnapshotPolicy {
  #deltaBytes: number;
  #rows: number;
  #stateBytes: number;
  #earnedBytes: number;
  #snapshotBytes: number;

  constructor(cost: LoadCost) {
    this.#deltaBytes = cost.deltaBytes;
    this.#rows = cost.rows;
    this.#stateBytes = cost.stateBytes;
    this.#snapshotBytes = cost.snapshotSeq === undefined ? 0 : cost.stateBytes;
    this.#earnedBytes = cost.ownCost / 2;
  }

  /** Call after each commit. `deltaBytes` is the size of the row's body. */
  onCommit(deltaBytes: number): void {
    this.#deltaBytes += deltaBytes;
    this.#rows += 1;
    this.#earnedBytes += costOf(deltaBytes, 1) / 2;
  }

  /**
   * Whether reading the head costs more than three times the state's last known size plus 64 KiB. The state may have grown since it was
   * measured: measure it, call `onMeasure`, and ask again before writing.
   */
  get isDue(): boolean {
    return costOf(this.#deltaBytes, this.#rows) > dueFactor * this.#stateBytes + dueBytes;
  }

  /** Whether a snapshot of this size makes the head of a paused run cheaper to read and can be paid from what was earned. */
  isWorthAtPause(stateBytes: number): boolean {
    const costNow = this.#snapshotBytes + costOf(this.#deltaBytes, this.#rows);
    return this.#rows > 0 && stateBytes < costNow && stateBytes <= this.#earnedBytes;
  }

  /** Call after the state was encoded, with its size in bytes. */
  onMeasure(stateBytes: number): void {
    this.#stateBytes = stateBytes;
  }

  /** Call after a snapshot of this size was written. */
  onSnapshot(stateBytes: number): void {
    this.#deltaBytes = 0;
    this.#rows = 0;
    this.#stateBytes = stateBytes;
    this.#snapshotBytes = stateBytes;
    this.#earnedBytes -= stateBytes;
  }
}
