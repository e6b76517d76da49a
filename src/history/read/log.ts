/** The log of a run, newest first, and the details of one checkpoint (H1, C3). */
import { type AwaitedEffect, awaitedEffects } from './awaited-effects.ts';
import { isDeepStrictEqual } from 'node:util';
import { isPlainObject } from '../../state/values/plain-object.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { FrameTree, StepRecord } from '../../state/tree.ts';
import { viewValues, viewState, type CheckpointView, type NodeRow } from './checkpoint-view.ts';
import { CairnError } from '../../errors.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import type { Change } from '../stored/change.ts';
import { checkpointId, formatVersion, type DecodedCheckpoint } from '../stored/checkpoint.ts';
import { toHex } from '../stored/checksum.ts';
import { firstSeqOf, readHistory, readLineage, readOwner, type HistoryEntry } from '../load/lineage.ts';
import { loadState } from '../load/load.ts';
import { readAnsweredIds } from '../access/read-all.ts';
import { isHeld } from '../access/claim-run.ts';
import type { StatePlace } from '../access/place.ts';
import { isUnowned } from './list-runs.ts';
import { isDeletedMark } from './deleted-marks.ts';
import { walkBack } from './walk-back.ts';
import type { BlobStore } from '../../ports/blobs.ts';

// Finds the values that differ between two states.

/** A value that differs, with both sides. A side that lacks the value lacks the field. */
export interface ValueDifference {
  /** Path from the partition: `scratch`, `artifacts`, `diagnostics`, `input`, `outputs` or `failures`. List items are keyed by index. */
  readonly path: readonly string[];
  readonly before?: unknown;
  readonly after?: unknown;
}

type Keyed = Readonly<Record<string, unknown>>;

/** Compares two states recursively and returns the smallest parts that differ. */
function compareValues(before: Keyed, after: Keyed): readonly ValueDifference[] {
  const found: ValueDifference[] = [];
  compareKeyed(before, after, [], found);
  return found;
}

function compareKeyed(before: Keyed, after: Keyed, path: readonly string[], found: ValueDifference[]): void {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const place = [...path, key];
    if (!Object.hasOwn(after, key)) found.push({ path: place, before: before[key] });
    else if (!Object.hasOwn(before, key)) found.push({ path: place, after: after[key] });
    else compareOne(before[key], after[key], place, found);
  }
}

function compareOne(before: unknown, after: unknown, path: readonly string[], found: ValueDifference[]): void {
  if (isPlainObject(before) && isPlainObject(after)) compareKeyed(before, after, path, found);
  else if (Array.isArray(before) && Array.isArray(after)) compareKeyed(keyed(before), keyed(after), path, found);
  else if (!isDeepStrictEqual(before, after)) found.push({ path, before, after });
}

const keyed = (items: readonly unknown[]): Keyed => Object.fromEntries(items.entries());

/**
 * Compares the values of two frames. What a node gives under a name (`outputAs`) is an artifact and an output of the state; where both
 * differ likewise, the difference is listed once, as that of the artifact.
 */
function compareFrameValues(before: FrameTree, after: FrameTree, path: readonly string[]): readonly ValueDifference[] {
  const differences = compareValues({ ...viewValues(before) }, { ...viewValues(after) });
  const byPath = new Map(differences.map((one) => [JSON.stringify(one.path), one]));
  const isListed = ({ path: [area, id = '', ...inside], ...sides }: ValueDifference): boolean => {
    const name = area === 'outputs' ? (after.nodes[id]?.as ?? before.nodes[id]?.as) : undefined;
    if (name === undefined) return false;
    const { path: _, ...named } = byPath.get(JSON.stringify(['artifacts', name, ...inside])) ?? { path: [] };
    return isDeepStrictEqual(named, sides);
  };
  return differences.filter((one) => !isListed(one)).map((one) => ({ ...one, path: [...path, ...one.path] }));
}

// Finds what a checkpoint recorded: changed values, and results of steps.

/** A step, question or other call of a node whose record is new or has changed. */
export interface RecordedStep {
  /** Node ids from the root and, between them, names of child runs; last, the key of the step. */
  readonly path: readonly string[];
  readonly kind: StepRecord['kind'];
  readonly status: StepRecord['status'];
  /** The result. Absent if there is none yet or the step failed. */
  readonly value?: unknown;
  readonly error?: unknown;
  /** The cost by unit. Absent if there was none. */
  readonly spent?: Amounts;
}

export interface RecordedValues {
  /** Values that were added, removed or changed. The path begins with the partition, after the path of a child run if there is one. */
  readonly values: readonly ValueDifference[];
  readonly steps: readonly RecordedStep[];
}

/** The state before the first checkpoint. */
const nothing: FrameTree = { input: undefined, channels: {}, nodes: {} };

/**
 * What was recorded between two states.
 * @param before - the frame at the previous checkpoint. Undefined if there is none or it was pruned; then the whole state counts as
 * recorded.
 */
function recordedValues(before: FrameTree | undefined, after: FrameTree): RecordedValues {
  const values: ValueDifference[] = [];
  const steps: RecordedStep[] = [];
  compareFrames(before, after, [], { values, steps });
  return { values, steps };
}

interface Found {
  readonly values: ValueDifference[];
  readonly steps: RecordedStep[];
}

function compareFrames(before: FrameTree = nothing, after: FrameTree, path: readonly string[], found: Found): void {
  found.values.push(...compareFrameValues(before, after, path));
  for (const [id, node] of Object.entries(after.nodes)) {
    const was = before.nodes[id];
    for (const [key, step] of Object.entries(node.steps ?? {}))
      if (!isDeepStrictEqual(was?.steps?.[key], step)) found.steps.push(toRecordedStep([...path, id, key], step));
    for (const [name, child] of Object.entries(node.children ?? {}))
      compareFrames(was?.children?.[name], child, [...path, id, name], found);
  }
}

function toRecordedStep(path: readonly string[], { kind, status, output, error, spent }: StepRecord): RecordedStep {
  return {
    path,
    kind,
    status,
    ...(output !== undefined && { value: output }),
    ...(error !== undefined && { error }),
    ...(spent !== undefined && { spent }),
  };
}

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
  /** Whether to include those that were deleted and whose rows stay because something needs them. Default: no. */
  readonly includeDeleted?: boolean;
}

/**
 * Checkpoints of a run, newest first, reading as it goes. Pruned checkpoints are left out.
 * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN, RUN_NOT_FOUND
 */
export async function* walkLog(store: Store, run: RunRow, options: LogOptions = {}): AsyncGenerator<LogEntry> {
  const { pageSize = 200, before = Number.POSITIVE_INFINITY } = options;
  const { includeAncestors = false, includeDeleted = false } = options;
  const lowest = includeAncestors ? 0 : firstSeqOf(run);
  const tags = await readTagNames(store, run);
  const range = { from: lowest, to: Math.min(run.head, before - 1), pageSize };
  for await (const { run: owner, checkpoint, sizeBytes } of walkBack(store, run, range)) {
    const { seq, at, change } = checkpoint;
    const id = checkpointId(owner.key, seq);
    const names = tags.get(id) ?? [];
    if (!includeDeleted && names.some(isDeletedMark)) continue;
    yield { checkpointId: id, runId: owner.runId, seq, at, change, tags: names.filter(isTagOfUser), sizeBytes };
  }
}

const isTagOfUser = (name: string): boolean => !isDeletedMark(name);

/** Names of tags, and marks, by checkpoint id. */
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
  /** How many workers in a row ended at this checkpoint, the newest, without giving the run back. Absent if none did. */
  readonly deaths?: number;
  /** What the run waits for that a worker has begun that does not have it any more. Absent if nothing, or if this is not the newest one. */
  readonly awaits?: readonly AwaitedEffect[];
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
  const awaits = seq === run.head ? awaitedEffects(run, root) : [];
  return {
    checkpointId: id,
    runId: owner.runId,
    seq,
    at: checkpoint.at,
    change: checkpoint.change,
    tags: ((await readTagNames(store, run)).get(id) ?? []).filter(isTagOfUser),
    sizeBytes,
    ...(before !== undefined && { parent: checkpointId((await readOwner(store, owner, before)).key, before) }),
    graphHash: root.graphHash,
    schemaVersion: formatVersion,
    encoding: snapshot?.seq === seq ? 'delta and snapshot' : 'delta',
    checksum: toHex(checkpoint.link),
    recorded: recordedValues(previous?.frame, root.frame),
    isInDoubt: hasOpenEffect && seq === run.head && (isHeld(run) || isUnowned(run, isWorkerDead)),
    ...(seq === run.head && run.deaths > 0 && { deaths: run.deaths }),
    ...(awaits.length > 0 && { awaits }),
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

// Computes the difference between two checkpoints, of one run or of two (H1).

export interface CheckpointPlace {
  readonly run: RunRow;
  readonly seq: number;
}

/** A node whose state differs. A side on which it was not started lacks the field. */
export interface NodeDifference {
  readonly path: readonly string[];
  readonly before?: NodeRow;
  readonly after?: NodeRow;
}

export interface CheckpointDifference {
  readonly status?: { readonly before: string; readonly after: string };
  readonly values: readonly ValueDifference[];
  readonly nodes: readonly NodeDifference[];
  /** Ids of waits that are open on one side only. */
  readonly waits: { readonly closed: readonly string[]; readonly opened: readonly string[] };
}

/**
 * Compares the states of two checkpoints.
 * @throws what {@link loadState} throws
 */
export async function diffCheckpoints(
  store: Store,
  blobs: BlobStore,
  a: CheckpointPlace,
  b: CheckpointPlace,
): Promise<CheckpointDifference> {
  const { root: rootA } = await loadState(store, blobs, a.run, a.seq);
  const { root: rootB } = await loadState(store, blobs, b.run, b.seq);
  const [before, after] = [viewState(rootA), viewState(rootB)];
  return {
    ...(before.status === after.status ? {} : { status: { before: before.status, after: after.status } }),
    values: compareFrameValues(rootA.frame, rootB.frame, []),
    nodes: compareNodes(before.nodes, after.nodes),
    waits: { closed: waitsOnlyIn(before, after), opened: waitsOnlyIn(after, before) },
  };
}

function compareNodes(before: readonly NodeRow[], after: readonly NodeRow[]): readonly NodeDifference[] {
  const byPath = (rows: readonly NodeRow[]): Map<string, NodeRow> =>
    new Map(rows.map((row) => [JSON.stringify(row.path), row]));
  const [old, now] = [byPath(before), byPath(after)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((path) => {
    const [was, is] = [old.get(path), now.get(path)];
    if (isDeepStrictEqual(was, is)) return [];
    return [{ path: JSON.parse(path) as string[], ...(was && { before: was }), ...(is && { after: is }) }];
  });
}

function waitsOnlyIn(one: CheckpointView, other: CheckpointView): readonly string[] {
  const others = new Set(other.waits.map(({ waitId }) => waitId));
  return one.waits.map(({ waitId }) => waitId).filter((waitId) => !others.has(waitId));
}
