/** Follows the history of a run from any process on its store: each checkpoint once, in order, over pauses, until the run ends. */
import { isRunOver, isUnderWay } from '../../state/tree.ts';
import { hash as digest } from 'node:crypto';
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import type { Op } from '../../state/delta.ts';
import { readAgain, readHistory } from '../load/lineage.ts';
import type { Change } from '../stored/change.ts';
import { checkpointId, type DecodedCheckpoint, listBlobs, resolveValues } from '../stored/checkpoint.ts';
import { toHex } from '../stored/checksum.ts';

/** A value as an event has it: the value, or only its size and hash if it is large. */
export type EventValue =
  | { readonly value: unknown }
  /** `hash`: SHA-256 of the stored value, as hex. */
  | { readonly sizeBytes: number; readonly hash: string };

/** Something that a checkpoint recorded. */
export type EventRecord = EventValue & {
  /** What it is: the output or the error of a node, the result of a step, an open wait, the run's input, or a value of the state. */
  readonly kind: 'output' | 'error' | 'step' | 'wait' | 'input' | 'value';
  /** Node ids from the root; names of child runs and keys of steps are included. For a wait its id, for a value its path. */
  readonly path: readonly string[];
};

/** A recorded event: one checkpoint. */
export interface FollowedCheckpoint {
  readonly type: 'checkpoint';
  /** Pass it as `after` to go on after this event: `SEQ.CHECK`, where CHECK tells this checkpoint from another one with its seq. */
  readonly cursor: string;
  readonly runId: string;
  readonly seq: number;
  readonly checkpointId: string;
  /** Epoch ms; information only. */
  readonly at: number;
  readonly change: Change;
  readonly recorded: readonly EventRecord[];
}

/** What was seen so far is not the run's history any more. The events of the history as it is now follow. */
export interface FollowReset {
  readonly type: 'reset';
  readonly runId: string;
  /** `lost`: the store lost the newest checkpoints. `pruned`: those after the cursor were removed. */
  readonly reason: 'lost' | 'pruned';
  /** The first seq that follows. */
  readonly from: number;
}

/** Whether pieces of what nodes are just making are streamed too: the first event where they were requested. */
export interface FollowedFeed {
  readonly type: 'feed';
  readonly runId: string;
  /** False where the store has no live feed: then all of it comes when it is recorded. */
  readonly live: boolean;
}

/** A piece of what a node is just making, such as an event of `emit` or some words of an answer. It is not recorded. */
export interface FollowedPiece {
  readonly type: 'live';
  /** Pass it as `after` to go on after this event: `SEQ.CHECK.N`, the cursor of the last checkpoint and the number of this piece. */
  readonly cursor: string;
  readonly runId: string;
  readonly node: readonly string[];
  readonly detail: unknown;
}

export type RecordedEvent = FollowedCheckpoint | FollowReset;
export type FollowedEvent = RecordedEvent | FollowedFeed | FollowedPiece;

export interface FollowOptions {
  /** The cursor of the last event seen, or its seq. Default: from the first checkpoint. */
  readonly after?: string | number;
  /** When it ends: with the run, or already when the run pauses. Default `end`. */
  readonly until?: 'end' | 'rest';
  /** Whether pieces of what nodes are just making come too, from the beginning of what is not recorded yet. Default false. */
  readonly live?: boolean;
  /** Ends it at once. */
  readonly signal?: AbortSignal;
}

/** What following needs of the outside. */
export interface FollowPlace {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly tenant: string;
  /** Resolves after these milliseconds, or sooner if there may be news or the signal is aborted. Default: a timer of the process. */
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Epoch ms. Default: the clock of the machine. */
  readonly now?: () => number;
}

export interface Cursor {
  readonly seq: number;
  readonly check?: string;
  /** Number of the last live piece seen. */
  readonly piece?: number;
}

const start: Cursor = { seq: -1 };
export const shortestPauseMs = 20;
const longestPauseMs = 320;
/** As often in succession a history may become another one while it is read. */
export const staleReadsMax = 5;
/** Larger values are shown by size and hash. */
const valueBytesMax = 16 * 1024;

/** @throws USAGE_INVALID */
export function readCursor(after: string | number | undefined): Cursor {
  if (after === undefined || after === '') return start;
  const [, seq, check, piece] = /^(-?\d{1,15})(?:\.([\da-f]{8})?(?:\.(\d{1,16}))?)?$/.exec(String(after)) ?? [];
  if (seq === undefined)
    throw new CairnError('USAGE_INVALID', {
      reason: `no cursor: ${JSON.stringify(String(after).slice(0, 60))}`,
      hint: 'Give the cursor of the last event seen, or its seq.',
    });
  return {
    seq: Math.max(-1, Number(seq)),
    ...(check !== undefined && { check }),
    ...(piece !== undefined && { piece: Number(piece) }),
  };
}

export const cursorText = ({ seq, check, piece }: Cursor): string =>
  piece === undefined ? (check === undefined ? String(seq) : `${seq}.${check}`) : `${seq}.${check ?? ''}.${piece}`;

const checkOf = ({ link }: DecodedCheckpoint): string => toHex(link).slice(0, 8);

/** Whether there is nothing more to come for who follows a run until it ends or rests. */
export function isOverFor({ status }: RunRow, until: 'end' | 'rest'): boolean {
  return until === 'rest' ? !isUnderWay(status) : isRunOver(status);
}

/** Resolves when the time is over or the signal is aborted. It keeps the process alive, as whoever awaits an event expects. */
export function timer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      clearTimeout(waiting);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const waiting = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/**
 * Follows a run. @throws USAGE_INVALID at once: the cursor is none. The iteration throws RUN_NOT_FOUND, also if the run is removed
 * meanwhile; CHECKPOINT_CORRUPT; STORE_* as the store
 */
export function followHistory(
  place: FollowPlace,
  runId: string,
  { after, until = 'end', live = false, signal }: FollowOptions = {},
): AsyncGenerator<FollowedEvent, void> {
  return follow(place, runId, readCursor(after), { until, live, signal });
}

async function* follow(
  place: FollowPlace,
  runId: string,
  after: Cursor,
  {
    until,
    live,
    signal,
  }: Required<Pick<FollowOptions, 'until' | 'live'>> & { readonly signal: AbortSignal | undefined },
): AsyncGenerator<FollowedEvent, void> {
  const { store, tenant, pause = timer } = place;
  let { piece = -1, ...cursor }: Cursor = after;
  let pauseMs = shortestPauseMs;
  const feed = live ? store.live : undefined;
  let updatedAt = -1;
  let failures = 0;
  const isOver = (): boolean => signal?.aborted === true;
  if (live) yield { type: 'feed', runId, live: feed !== undefined };
  while (!isOver()) {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    const isNew = run.head > cursor.seq;
    // A store that lost its newest checkpoints may have others under the same numbers by now.
    const isChanged = run.head !== cursor.seq || run.updatedAt !== updatedAt;
    updatedAt = run.updatedAt;
    if (isChanged || isOverFor(run, until))
      try {
        for await (const event of eventsSince(place, run, cursor)) {
          cursor = event.type === 'reset' ? start : readCursor(event.cursor);
          failures = 0;
          yield event;
          if (isOver()) return;
        }
      } catch (error) {
        if ((failures += 1) > staleReadsMax || !(await isReplaced(store, run, error))) throw error;
        updatedAt = -1;
        continue;
      }
    // Read after the checkpoints: a piece is there before what it is part of is recorded, so none comes late.
    for (const { n, node, detail } of (await feed?.read({ tenant, runId }, piece).catch(() => [])) ?? []) {
      piece = n;
      yield { type: 'live', cursor: cursorText({ ...cursor, piece }), runId, node, detail };
      if (isOver()) return;
    }
    if (isOverFor(run, until) && run.head <= cursor.seq) return;
    pauseMs = isNew ? shortestPauseMs : Math.min(longestPauseMs, 2 * pauseMs);
    // Only a run that moves makes pieces.
    await pause(feed !== undefined && isUnderWay(run.status) ? feed.pollMs : pauseMs, signal);
  }
}

/**
 * What a run has recorded after a cursor, up to its newest checkpoint. The checkpoint of the cursor is read together with those after it,
 * each verified against the one before, so all are of one history, also if the store loses its newest checkpoints meanwhile.
 * @throws CHECKPOINT_CORRUPT also if that happens while they are read: {@link isReplaced}
 */
export async function* eventsSince(
  place: FollowPlace,
  run: RunRow,
  { seq: after, check }: Cursor,
): AsyncGenerator<RecordedEvent, void> {
  const { runId, prunedBelow, head } = run;
  const resetTo = (reason: FollowReset['reason']): FollowReset => ({ type: 'reset', runId, reason, from: prunedBelow });
  let seq = after;
  if (seq > head) {
    yield resetTo('lost');
    seq = -1;
  } else if (seq >= 0 && seq + 1 < prunedBelow) yield resetTo('pruned');
  // A pruned checkpoint is not known any more, and neither is one of which the cursor tells the seq alone.
  const isKnown = seq >= 0 && check !== undefined && seq >= prunedBelow;
  for await (const entry of readHistory(place.store, run, { from: isKnown ? seq : seq + 1, to: head })) {
    if (!isKnown || entry.checkpoint.seq !== seq) yield await eventOf(place, run, entry);
    else if (checkOf(entry.checkpoint) !== check) {
      yield resetTo('lost');
      yield* eventsSince(place, run, start);
      return;
    }
  }
}

/** Whether the history of a run became another one while it was read, so that it only has to be read again. */
export async function isReplaced(store: Store, run: RunRow, error: unknown): Promise<boolean> {
  if (!CairnError.is(error, 'CHECKPOINT_CORRUPT')) return false;
  const { head, updatedAt } = await readAgain(store, run);
  return head !== run.head || updatedAt !== run.updatedAt;
}

async function eventOf(
  { blobs, tenant }: FollowPlace,
  { runId }: RunRow,
  { run: owner, checkpoint }: { readonly run: RunRow; readonly checkpoint: DecodedCheckpoint },
): Promise<FollowedCheckpoint> {
  const { seq, at, change, ops } = checkpoint;
  const recorded: EventRecord[] = [];
  for (const { kind, path, stored } of recordsIn(ops as readonly Op[]))
    recorded.push({ kind, path, ...(await eventValue(blobs, tenant, stored)) });
  const cursor = `${seq}.${checkOf(checkpoint)}`;
  return { type: 'checkpoint', cursor, runId, seq, checkpointId: checkpointId(owner.key, seq), at, change, recorded };
}

async function eventValue(blobs: BlobStore, tenant: string, stored: unknown): Promise<EventValue> {
  const json = JSON.stringify(stored) ?? 'null';
  const sizeBytes = Buffer.byteLength(json);
  // What is in the blob store was too large for a checkpoint, so it is for an event.
  if (sizeBytes > valueBytesMax || listBlobs(stored).size > 0)
    return { sizeBytes, hash: digest('sha256', json, 'hex') };
  return { value: await resolveValues(blobs, tenant, structuredClone(stored)) };
}

interface StoredRecord {
  readonly kind: EventRecord['kind'];
  readonly path: readonly string[];
  readonly stored: unknown;
}

type Stored = Readonly<Record<string, unknown>>;

/** What the ops of a delta record. Each op sets or deletes a place of the tree: docs/spec/checkpoints.md. */
function recordsIn(ops: readonly Op[]): readonly StoredRecord[] {
  return ops.flatMap(([kind, path, value]) => {
    if (kind !== 's') return [];
    const [table, id] = path;
    if (table === 'waits' && id !== undefined && path.length === 2)
      return [{ kind: 'wait' as const, path: [id], stored: value }];
    return table === 'frame' ? inFrame(path.slice(1), [], value) : [];
  });
}

/** @param path - the rest of the op's path, from the frame on. @param outer - the nodes and child runs around the frame */
function inFrame(path: readonly string[], outer: readonly string[], value: unknown): readonly StoredRecord[] {
  const [part, id, field, key, ...rest] = path;
  if (part === undefined) return wholeFrame(outer, value as Stored);
  if (part === 'channels' && id !== undefined)
    return [{ kind: 'value', path: [...outer, ...path.slice(1)], stored: value }];
  if (part !== 'nodes' || id === undefined) return [];
  const node = [...outer, id];
  if (field === undefined) return wholeNode(node, value as Stored);
  if (field === 'output' || field === 'error')
    return key === undefined ? [{ kind: field, path: node, stored: value }] : [];
  if (field === 'children' && key !== undefined) return inFrame(rest, [...node, key], value);
  if (field === 'steps' && key !== undefined) {
    if (rest.length === 0) return stepOf([...node, key], value as Stored);
    return rest.length === 1 && rest[0] === 'output' ? [{ kind: 'step', path: [...node, key], stored: value }] : [];
  }
  return [];
}

function wholeFrame(outer: readonly string[], frame: Stored): readonly StoredRecord[] {
  const nodes = Object.entries((frame['nodes'] ?? {}) as Readonly<Record<string, Stored>>);
  return [
    ...('input' in frame ? [{ kind: 'input' as const, path: outer, stored: frame['input'] }] : []),
    ...nodes.flatMap(([id, node]) => wholeNode([...outer, id], node)),
  ];
}

function wholeNode(path: readonly string[], node: Stored): readonly StoredRecord[] {
  const steps = Object.entries((node['steps'] ?? {}) as Readonly<Record<string, Stored>>);
  const children = Object.entries((node['children'] ?? {}) as Readonly<Record<string, Stored>>);
  return [
    ...('output' in node ? [{ kind: 'output' as const, path, stored: node['output'] }] : []),
    ...('error' in node ? [{ kind: 'error' as const, path, stored: node['error'] }] : []),
    ...steps.flatMap(([key, step]) => stepOf([...path, key], step)),
    ...children.flatMap(([name, frame]) => wholeFrame([...path, name], frame)),
  ];
}

function stepOf(path: readonly string[], step: Stored): readonly StoredRecord[] {
  return 'output' in step ? [{ kind: 'step', path, stored: step['output'] }] : [];
}
