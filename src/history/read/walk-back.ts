/** Reads the checkpoints of a history newest first, in windows. Logs and searches for the newest match use it. */
import type { RunRow, Store } from '../../ports/store.ts';
import { readHistory, type HistoryEntry } from '../load/lineage.ts';

/** Where a walk begins and ends, both included. */
export interface WalkRange {
  readonly from: number;
  readonly to: number;
  /** How many checkpoints to read at once. Default 200. */
  readonly pageSize?: number;
}

/** The most seqs to look through at once where most checkpoints were pruned. */
const widestWindow = 10_000;

/**
 * Checkpoints from `to` down to `from`, through the ancestors, reading as it goes. Pruned checkpoints are left out.
 * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN, RUN_NOT_FOUND
 */
export async function* walkBack(
  store: Store,
  run: RunRow,
  { from: lowest, to: highest, pageSize = 200 }: WalkRange,
): AsyncGenerator<HistoryEntry> {
  let to = highest;
  let width = pageSize;
  while (to >= lowest) {
    const from = Math.max(lowest, to - width + 1);
    const window: HistoryEntry[] = [];
    for await (const entry of readHistory(store, run, { from, to })) window.push(entry);
    yield* window.reverse();
    // Where checkpoints were pruned, a window holds fewer rows than seqs, so the next one is made wider.
    width = window.length < width / 2 ? Math.min(width * 2, widestWindow) : pageSize;
    to = from - 1;
  }
}
