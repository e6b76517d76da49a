/** The log of a run, newest first, and the details of one checkpoint (H1, C3). */
import { CairnError } from '../../errors.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import type { Change } from '../stored/change.ts';
import { checkpointId, formatVersion, type DecodedCheckpoint } from '../stored/checkpoint.ts';
import { toHex } from '../stored/checksum.ts';
import { firstSeqOf, readHistory, readLineage, readOwner, type HistoryEntry } from '../load/lineage.ts';
import { loadState } from '../load/load.ts';
import { readAnsweredIds } from '../place/all-rows.ts';
import { isHeld } from '../place/hold.ts';
import type { StatePlace } from '../place/place.ts';
import { isUnowned } from './list-runs.ts';
import { recordedValues, type RecordedValues } from './recorded-values.ts';
import { viewState, type CheckpointView } from './state-view.ts';
import { walkBack } from './walk-back.ts';

export interface LogEntry {
  readonly checkpointId: string;
  /** The run that the checkpoint belongs to. Before a fork point it is an ancestor. */
  readonly runId: string;
  readonly seq: number;
  /** Epoch ms; information only. */
  readonly at: number;
  readonly change: Change;
  readonly tags: readonly string[];
  /** Size of the stored row's body. */
  readonly sizeBytes: number;
}

/** Which checkpoints of a run to walk through. */
export interface LogOptions {
  /** Only checkpoints with a lower seq. */
  readonly before?: number;
  /** Whether to go on past the fork point into the ancestors. */
  readonly includeAncestors?: boolean;
  /** How many checkpoints to read at once. Default 200. */
  readonly pageSize?: number;
}

/**
 * Checkpoints of a run, newest first, reading as it goes. Pruned checkpoints are left out.
 * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN, RUN_NOT_FOUND
 */
export async function* walkLog(store: Store, run: RunRow, options: LogOptions = {}): AsyncGenerator<LogEntry> {
  const { pageSize = 200, before = Number.POSITIVE_INFINITY, includeAncestors = false } = options;
  const lowest = includeAncestors ? 0 : firstSeqOf(run);
  const tags = await readTagNames(store, run);
  const range = { from: lowest, to: Math.min(run.head, before - 1), pageSize };
  for await (const { run: owner, checkpoint, sizeBytes } of walkBack(store, run, range)) {
    const { seq, at, change } = checkpoint;
    const id = checkpointId(owner.key, seq);
    yield { checkpointId: id, runId: owner.runId, seq, at, change, tags: tags.get(id) ?? [], sizeBytes };
  }
}

/** Names of tags by checkpoint id. */
async function readTagNames(store: Store, run: RunRow): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = new Map<string, string[]>();
  for (const part of await readLineage(store, run)) {
    for (const { name, seq } of await store.readTags(part.run)) {
      const id = checkpointId(part.run.key, seq);
      names.set(id, [...(names.get(id) ?? []), name]);
    }
  }
  return names;
}

export interface CheckpointDetails extends LogEntry {
  /** Id of the checkpoint before it. Absent for the first, and if everything before it was pruned. */
  readonly parent?: string;
  readonly graphHash: string;
  readonly schemaVersion: number;
  readonly encoding: 'delta' | 'delta and snapshot';
  /** 64 hex digits. */
  readonly checksum: string;
  /** The values that this checkpoint recorded. If everything before it was pruned, that is the whole state. */
  readonly recorded: RecordedValues;
  /**
   * Whether there are effects without a result (`hasOpenEffect`), and they are in doubt: this is the newest checkpoint, and no process can
   * still be running them.
   */
  readonly isInDoubt: boolean;
  /** Ids of waits in `view` whose answer waits to be taken by a resume; none if this is not the newest checkpoint. */
  readonly answered: readonly string[];
  readonly view: CheckpointView;
}

/**
 * Everything about one checkpoint.
 * @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN, RUN_NOT_FOUND, BLOB_NOT_FOUND
 */
export async function showCheckpoint(place: StatePlace, run: RunRow, seq: number): Promise<CheckpointDetails> {
  const { store, blobs, isWorkerDead } = place;
  const { root } = await loadState(store, blobs, run, seq);
  const found = await readOne(store, run, seq);
  if (found === undefined) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId(run.key, seq) });
  const { run: owner, checkpoint, sizeBytes } = found;
  const id = checkpointId(owner.key, seq);
  const before = seqBefore(owner, checkpoint);
  const previous = before === undefined ? undefined : (await loadState(store, blobs, run, before)).root;
  const snapshot = await store.readSnapshot(owner, seq);
  const view = viewState(root);
  const hasOpenEffect = view.nodes.some((node) => node.hasOpenEffect);
  return {
    checkpointId: id,
    runId: owner.runId,
    seq,
    at: checkpoint.at,
    change: checkpoint.change,
    tags: (await readTagNames(store, run)).get(id) ?? [],
    sizeBytes,
    ...(before !== undefined && { parent: checkpointId((await readOwner(store, owner, before)).key, before) }),
    graphHash: root.graphHash,
    schemaVersion: formatVersion,
    encoding: snapshot?.seq === seq ? 'delta and snapshot' : 'delta',
    checksum: toHex(checkpoint.link),
    recorded: recordedValues(previous?.frame, root.frame),
    isInDoubt: hasOpenEffect && seq === run.head && (isHeld(run) || isUnowned(run, isWorkerDead)),
    answered: seq === run.head ? [...(await readAnsweredIds(store, run))] : [],
    view,
  };
}

async function readOne(store: Store, run: RunRow, seq: number): Promise<HistoryEntry | undefined> {
  for await (const entry of readHistory(store, run, { from: seq, to: seq })) return entry;
  return undefined;
}

/** Seq of the checkpoint before this one; undefined if it is the first or everything before it was pruned. */
function seqBefore(owner: RunRow, { fold, seq }: DecodedCheckpoint): number | undefined {
  const before = fold?.after ?? seq - 1;
  return before < 0 || seq === owner.prunedBelow ? undefined : before;
}
