/** Lists the checkpoints of all runs for people, newest first. */
import { CairnError } from '../../errors.ts';
import { type LogEntry, walkLog } from './log.ts';
import type { RunRow } from '../../ports/store.ts';
import type { ReadPlace, StatePlace } from '../access/place.ts';
import { collectRuns } from '../access/read-all.ts';
import { checkpointId } from '../stored/checkpoint.ts';
import { isAnswerable } from '../stored/wait-row.ts';
import { loadState } from '../load/load.ts';

// Walks through the checkpoints of many runs together, newest first.

/** Page size for a run's log. It is small, because of most runs only the first few checkpoints are needed. */
const pageSize = 20;

/** A position in the list of all runs' checkpoints, newest first. */
export interface Position {
  readonly at: number;
  readonly runId: string;
  readonly seq: number;
}

/** A checkpoint in that list. */
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

function positionOf({ run, entry, at }: WalkedCheckpoint): Position {
  return { at, runId: run.runId, seq: entry.seq };
}

/** Checkpoints of one run, from its head down. It ends where another process removes the run meanwhile. */
async function* walkRun({ store }: ReadPlace, run: RunRow): AsyncGenerator<WalkedCheckpoint, undefined> {
  let at = Number.POSITIVE_INFINITY;
  try {
    for await (const entry of walkLog(store, run, { pageSize })) {
      at = Math.min(at, entry.at);
      yield { run, entry, at };
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

/** Checkpoints of all these runs, newest first. In each step it takes the newest of the runs' next checkpoints. */
export async function* newestFirst(place: ReadPlace, runs: readonly RunRow[]): AsyncGenerator<WalkedCheckpoint> {
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

/** One checkpoint in this list. */
export interface ListedCheckpoint {
  readonly checkpointId: string;
  readonly runId: string;
  readonly seq: number;
  readonly graphId: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Whether the run was paused at this checkpoint. */
  readonly isPaused: boolean;
  /** If the run was paused here: the first of its open questions. */
  readonly prompt?: string;
  /** Whether it is its run's newest checkpoint. */
  readonly isHead: boolean;
  /** Set if a node read its memory here, and what it read is on record. */
  readonly readsMemory?: true;
}

/** Which checkpoints to list; all conditions must hold. */
export interface CheckpointQuery {
  /** Only checkpoints of this graph's runs. */
  readonly graphId?: string;
  /** Only checkpoints at which a run was paused. */
  readonly isPaused?: boolean;
  /** Only checkpoints that come after this position in the list. */
  readonly after?: Position;
  /** The most to list. Default: all. */
  readonly limit?: number;
}

/** Lists checkpoints of all runs, newest first, reading as it goes. @throws CHECKPOINT_CORRUPT, BLOB_NOT_FOUND and the like */
export async function* listCheckpoints(
  place: StatePlace,
  { graphId, isPaused = false, after }: CheckpointQuery = {},
): AsyncGenerator<ListedCheckpoint> {
  for await (const walked of newestFirst(place, await collectRuns(place, graphId === undefined ? {} : { graphId }))) {
    const { run, entry, at } = walked;
    if (after !== undefined && !isAfter({ at, runId: run.runId, seq: entry.seq }, after)) continue;
    if (!isPaused || isPause(walked)) yield toListed(place, walked);
  }
}

function isPause({ entry }: WalkedCheckpoint): boolean {
  return entry.change.some(({ kind }) => kind === 'pause');
}

async function toListed(place: StatePlace, walked: WalkedCheckpoint): Promise<ListedCheckpoint> {
  const { run, entry, at } = walked;
  const isPaused = isPause(walked);
  const prompt = isPaused ? await readPrompt(place, walked) : undefined;
  return {
    checkpointId: checkpointId(run.key, entry.seq),
    runId: run.runId,
    seq: entry.seq,
    graphId: run.graphId,
    createdAt: at,
    isPaused,
    ...(prompt !== undefined && { prompt }),
    isHead: entry.seq === run.head,
    ...(entry.change.some(isRecall) && { readsMemory: true as const }),
  };
}

/** Steps of a session memory are named for it, and for what they do. */
const isRecall = ({ kind, step }: LogEntry['change'][number]): boolean =>
  kind === 'step' && step !== undefined && / recall(?:\W|$)/u.test(step);

async function readPrompt({ store, blobs }: StatePlace, { run, entry }: WalkedCheckpoint): Promise<string | undefined> {
  const { root } = await loadState(store, blobs, run, entry.seq);
  return Object.values(root.waits).find(isAnswerable)?.prompt;
}
