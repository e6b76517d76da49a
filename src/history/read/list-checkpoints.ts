/** Lists the checkpoints of all runs for people, newest first. */
import { checkpointId } from '../stored/checkpoint.ts';
import { isAnswerable } from '../stored/open-waits.ts';
import { loadState } from '../load/load.ts';
import { collectRuns } from '../place/all-rows.ts';
import type { StatePlace } from '../place/place.ts';
import { isAfter, newestFirst, type Position, type WalkedCheckpoint } from './checkpoint-walk.ts';

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
}

/** Which checkpoints to list; all conditions must hold. */
export interface CheckpointQuery {
  /** Only checkpoints of this graph's runs. */
  readonly graphId?: string;
  /** Only checkpoints at which a run was paused. */
  readonly isPaused?: boolean;
  /** Only checkpoints that come after this position in the list. */
  readonly after?: Position;
}

/** Lists checkpoints of all runs, newest first, reading as it goes. @throws CHECKPOINT_CORRUPT, BLOB_NOT_FOUND and the like */
export async function* listCheckpoints(
  place: StatePlace,
  { graphId, isPaused = false, after }: CheckpointQuery = {},
): AsyncGenerator<ListedCheckpoint> {
  for await (const walked of newestFirst(place, await collectRuns(place, graphId))) {
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
  };
}

async function readPrompt({ store, blobs }: StatePlace, { run, entry }: WalkedCheckpoint): Promise<string | undefined> {
  const { root } = await loadState(store, blobs, run, entry.seq);
  return Object.values(root.waits).find(isAnswerable)?.prompt;
}
