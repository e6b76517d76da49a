/** Reads the checkpoints of a history newest first, in windows. Logs and searches for the newest match use it. */
import { CairnError } from '../../errors.ts';
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
    const window = await readWindow(store, run, from, to);
    yield* window.toReversed();
    // Where checkpoints were pruned, a window holds fewer rows than seqs, so the next one is made wider.
    width = window.length < width / 2 ? Math.min(width * 2, widestWindow) : pageSize;
    to = from - 1;
  }
}

/** How often a part of a history is read before it is called damaged. */
const readsMax = 3;

/** Reads again before damage is reported, because pruning or removing that happens between two reads looks like damage. */
async function readWindow(store: Store, known: RunRow, from: number, to: number): Promise<readonly HistoryEntry[]> {
  for (let run = known, reads = 1; ; reads += 1) {
    try {
      const window: HistoryEntry[] = [];
      for await (const entry of readHistory(store, run, { from, to })) window.push(entry);
      return window;
    } catch (error) {
      if (!CairnError.is(error, 'CHECKPOINT_CORRUPT') || reads === readsMax) throw error;
      const row = await store.readRun(run);
      if (row === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: run.runId });
      run = row;
    }
  }
}
