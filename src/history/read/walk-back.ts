/** The checkpoints of a history, newest first, read in windows: how logs and searches for the newest of something go through it. */
import type { RunRow, Store } from '../../ports/store.ts';
import { readHistory, type HistoryEntry } from '../load/lineage.ts';

/** Where a walk begins and ends, both included. */
export interface WalkRange {
  readonly from: number;
  readonly to: number;
  /** How many are read at once. Default 200. */
  readonly pageSize?: number;
}

/** So many seqs are looked through at once, at most, where most of their checkpoints were pruned. */
const widestWindow = 10_000;

/**
 * Checkpoints from `to` down to `from`, through the lineage, read as they are taken; what was pruned is left out.
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
    // Where spans were pruned a window holds fewer rows than seqs, so the next one is wider.
    width = window.length < width / 2 ? Math.min(width * 2, widestWindow) : pageSize;
    to = from - 1;
  }
}
