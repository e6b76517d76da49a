/** When a snapshot is worth its bytes (C4). */

/** What reading a checkpoint cost, as far as a snapshot could make it cheaper. */
export interface LoadCost {
  /** Bytes of the rows since the newest snapshot at or before it. */
  readonly deltaBytes: number;
  /** Rows since that snapshot. */
  readonly rows: number;
  /** Of these, what the run's own rows count for; the rest are its ancestors'. */
  readonly ownCost: number;
  /** Bytes of the live state, encoded, as of the last time it was known; 0: never. */
  readonly stateBytes: number;
  /** The checkpoint of that snapshot; undefined: there is none. */
  readonly snapshotSeq: number | undefined;
}

/** Reading, verifying and applying a row costs about as much as this many bytes of state, whatever is in it. */
export const rowBytes = 1024;

const dueFactor = 3;
const dueBytes = 64 * 1024;

/** The cost of reading rows, in bytes of state. */
export function costOf(deltaBytes: number, rows: number): number {
  return deltaBytes + rows * rowBytes;
}

/**
 * Decides for one run when the engine writes a snapshot.
 *
 * A due snapshot takes less than a third of what was read since the one before. So half of it is earned with each commit, and what
 * due snapshots leave over may go into snapshots at pauses: all snapshots together stay within half of the deltas plus 0.5 KiB a row.
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

  /** After each commit; `deltaBytes` is the size of the row's body. */
  onCommit(deltaBytes: number): void {
    this.#deltaBytes += deltaBytes;
    this.#rows += 1;
    this.#earnedBytes += costOf(deltaBytes, 1) / 2;
  }

  /**
   * Whether reading the head costs more than three times the live state plus 64 KiB, by the size last known. Since the state may have
   * grown since, measure it, tell the policy with `onMeasure`, and ask again before writing.
   */
  get isDue(): boolean {
    return costOf(this.#deltaBytes, this.#rows) > dueFactor * this.#stateBytes + dueBytes;
  }

  /** Whether a snapshot of that size makes a paused run's head cheaper to read, and stays within what was earned. */
  isWorthAtPause(stateBytes: number): boolean {
    const costNow = this.#snapshotBytes + costOf(this.#deltaBytes, this.#rows);
    return this.#rows > 0 && stateBytes < costNow && stateBytes <= this.#earnedBytes;
  }

  /** The live state was encoded and found to take that many bytes. */
  onMeasure(stateBytes: number): void {
    this.#stateBytes = stateBytes;
  }

  /** A snapshot of that size was written. */
  onSnapshot(stateBytes: number): void {
    this.#deltaBytes = 0;
    this.#rows = 0;
    this.#stateBytes = stateBytes;
    this.#snapshotBytes = stateBytes;
    this.#earnedBytes -= stateBytes;
  }
}
