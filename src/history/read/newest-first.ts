/** Checkpoints of several runs as one sequence, newest first. */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import type { ReadPlace } from '../access/place.ts';
import { type LogEntry, walkLog } from './log.ts';

/** Page size for a run's log. It is small, because of most runs only the first few checkpoints are needed. */
const pageSize = 20;

/** A position in the sequence. */
export interface Position {
  /** Epoch ms. */
  readonly at: number;
  readonly runId: string;
  readonly seq: number;
}

/** A checkpoint in the sequence. */
export interface WalkedCheckpoint {
  readonly run: RunRow;
  readonly entry: LogEntry;
  /** Its time for sorting: its own, but never later than that of the run's next checkpoint, since clocks may have gone back in between. */
  readonly at: number;
}

function isAfter(a: Position, b: Position): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.runId === b.runId ? a.seq < b.seq : a.runId < b.runId;
}

export function positionOf({ run, entry, at }: WalkedCheckpoint): Position {
  return { at, runId: run.runId, seq: entry.seq };
}

/** Checkpoints of one run behind a position, from its head down. It ends where another process removes the run meanwhile. */
async function* walkRun(
  { store }: ReadPlace,
  run: RunRow,
  after: Position | undefined,
): AsyncGenerator<WalkedCheckpoint, undefined> {
  const isOwn = after?.runId === run.runId;
  let at = isOwn ? after.at : Number.POSITIVE_INFINITY;
  try {
    for await (const entry of walkLog(store, run, { pageSize, ...(isOwn && { before: after.seq }) })) {
      at = Math.min(at, entry.at);
      const walked = { run, entry, at };
      if (after === undefined || isAfter(positionOf(walked), after)) yield walked;
    }
  } catch (error) {
    const isGone = CairnError.is(error, 'RUN_NOT_FOUND') && (await store.readRun(run)) === undefined;
    if (!isGone) throw error;
  }
}

interface OpenWalk {
  readonly rest: AsyncGenerator<WalkedCheckpoint, undefined>;
  next: WalkedCheckpoint;
}

/**
 * Checkpoints of all these runs, newest first. In each step it takes the newest of the runs' next checkpoints.
 * @param after - only those behind this position
 */
export async function* newestFirst(
  place: ReadPlace,
  runs: readonly RunRow[],
  after?: Position,
): AsyncGenerator<WalkedCheckpoint> {
  // The row of a run says when it was last written, so the run's log need not be opened before that time is reached.
  const waiting = [...runs].sort((a, b) => b.updatedAt - a.updatedAt);
  const open: OpenWalk[] = [];
  for (;;) {
    const newest = open.reduce<OpenWalk | undefined>(
      (best, walk) => (best === undefined || isAfter(positionOf(best.next), positionOf(walk.next)) ? walk : best),
      undefined,
    );
    const [unread] = waiting;
    if (unread !== undefined && (newest === undefined || unread.updatedAt >= newest.next.at)) {
      waiting.shift();
      const rest = walkRun(place, unread, after);
      const next = (await rest.next()).value;
      if (next !== undefined) open.push({ rest, next });
      continue;
    }
    if (newest === undefined) return;
    yield newest.next;
    const next = (await newest.rest.next()).value;
    if (next === undefined) open.splice(open.indexOf(newest), 1);
    else newest.next = next;
  }
}
