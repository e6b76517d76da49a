/** The checkpoints of many runs together, newest first. */
import { type LogEntry, walkLog } from './log.ts';
import type { RunRow } from '../../ports/store.ts';
import type { ReadPlace } from '../place/place.ts';

/** A run's log is read so many at a time: of most runs only the first few are looked at. */
const pageSize = 20;

/** A place among the checkpoints of all runs, newest first. */
export interface Position {
  readonly at: number;
  readonly runId: string;
  readonly seq: number;
}

/** A checkpoint where it stands among those of all runs. */
export interface WalkedCheckpoint {
  readonly run: RunRow;
  readonly entry: LogEntry;
  /** Its time; where clocks went back between checkpoints, an older one counts as no newer than the one after it. */
  readonly at: number;
}

export function isAfter(a: Position, b: Position): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.runId === b.runId ? a.seq < b.seq : a.runId < b.runId;
}

function positionOf({ run, entry, at }: WalkedCheckpoint): Position {
  return { at, runId: run.runId, seq: entry.seq };
}

/** Checkpoints of one run, from its head down. */
async function* walkRun({ store }: ReadPlace, run: RunRow): AsyncGenerator<WalkedCheckpoint, undefined> {
  let at = Number.POSITIVE_INFINITY;
  for await (const entry of walkLog(store, run, { pageSize })) {
    at = Math.min(at, entry.at);
    yield { run, entry, at };
  }
}

interface OpenWalk {
  readonly rest: AsyncGenerator<WalkedCheckpoint, undefined>;
  next: WalkedCheckpoint;
}

/** Checkpoints of all these runs, newest first: the next is always that of the run whose own next is newest. */
export async function* newestFirst(place: ReadPlace, runs: readonly RunRow[]): AsyncGenerator<WalkedCheckpoint> {
  // A run says when it was last written to, so its history is read only when its turn comes.
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
      const rest = walkRun(place, unread);
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
