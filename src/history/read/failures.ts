/** Reads why attempts failed: the records that stand in the changes of checkpoints, with their stacks (K1d). */
import type { RunRow, Store } from '../../ports/store.ts';
import { readHistory, type HistoryEntry } from '../load/lineage.ts';
import type { BegunAgain, Change, ChangePart, FailureNote, StackNote } from '../stored/change.ts';
import { walkBack } from './walk-back.ts';

/** Why an attempt failed. */
export interface Failure extends FailureCause {
  /** Epoch ms at which it was recorded. */
  readonly at: number;
  /** The checkpoint that recorded it. */
  readonly seq: number;
  /** Node ids from the root. Names of child runs and keys of map items are included. */
  readonly node: readonly string[];
  /** The step that failed. Absent for the node itself. */
  readonly step?: string;
  /** The attempt that failed, counted from 1. */
  readonly attempt: number;
  /** The worker that made the attempt. Absent in what older versions recorded. */
  readonly worker?: string;
  /** What caused it, outermost first. Absent if nothing did. */
  readonly causes?: readonly FailureCause[];
  /** Set if the attempt was a repetition of one that may have begun before. */
  readonly again?: BegunAgain;
}

/** An error: that of the attempt, or one that caused it. */
export interface FailureCause {
  readonly code?: string;
  /** Name of the error's class, if it is not `Error`. */
  readonly name?: string;
  readonly message: string;
  /**
   * Where it was thrown, innermost first: frames of the user's own code, such as `pay (/app/pay.ts:12:9)`, and `… 3 of libraries` for those
   * between them. Absent if there are none, or if the checkpoint with them was pruned.
   */
  readonly stack?: readonly string[];
}

/** The most failures that are told of a run. */
const failuresMax = 20;
/** Failures within a node stand before its own: so many checkpoints are looked through for them, and at most so many for its own. */
const nearCheckpoints = 200;
const allCheckpoints = 2_000;
const pageSize = 100;

/**
 * Why these nodes of a run's own graph failed, and what failed within them; the newest record of each.
 * @param failed - ids of nodes
 * @param seq - the newest checkpoint to look at
 * @throws what reading a history throws
 */
export async function readFailures(
  store: Store,
  run: RunRow,
  seq: number,
  failed: readonly string[],
): Promise<readonly Failure[]> {
  const missing = new Set(failed);
  const found = new Map<string, { readonly entry: HistoryEntry; readonly part: ChangePart }>();
  let count = 0;
  for await (const entry of walkBack(store, run, { from: 0, to: seq, pageSize })) {
    for (const part of entry.checkpoint.change.toReversed()) {
      if (!isFailure(part) || !failed.includes(part.node?.[0] ?? '')) continue;
      const place = JSON.stringify([part.node, part.step]);
      if (found.has(place)) continue;
      found.set(place, { entry, part });
      if (part.node?.length === 1 && part.step === undefined) missing.delete(part.node[0] as string);
    }
    count += 1;
    const isBegun = entry.checkpoint.change.some(({ kind }) => kind === 'resume');
    const isEnough = count >= nearCheckpoints || isBegun || found.size >= failuresMax;
    if ((missing.size === 0 && isEnough) || count >= allCheckpoints) break;
  }
  const newest = [...found.values()].slice(0, failuresMax).toReversed();
  const frames = await framesOf(store, run, [newest.map(({ part }) => part)]);
  return newest.map(({ entry, part }) => failureOf(entry, part, frames));
}

/** Whether a part says that something failed for good. */
function isFailure({ kind, status, error }: ChangePart): boolean {
  return error !== undefined && status === 'failed' && (kind === 'settle' || kind === 'step' || kind === 'replay');
}

function failureOf(
  { checkpoint }: HistoryEntry,
  { node = [], step, attempt = 1, error }: ChangePart,
  frames: ReadonlyMap<string, readonly string[]>,
): Failure {
  const { seq, at } = checkpoint;
  return { at, seq, node, ...(step !== undefined && { step }), attempt, ...toldFailure(error as FailureNote, frames) };
}

/** A record with its frames, which a reader of the whole history has met before. */
export function toldFailure(
  { stack, causes, ...note }: FailureNote,
  frames: ReadonlyMap<string, readonly string[]>,
): Omit<FailureNote, 'stack' | 'causes'> & Pick<Failure, 'stack' | 'causes'> {
  const withFrames = (of: StackNote | undefined): { readonly stack?: readonly string[] } => {
    const found = of && frames.get(of.id);
    return found === undefined ? {} : { stack: found };
  };
  return {
    ...note,
    ...withFrames(stack),
    ...(causes && { causes: causes.map(({ stack: of, ...cause }) => ({ ...cause, ...withFrames(of) })) }),
  };
}

/** The frames of the stacks in a change, by the stack's id. Checkpoints that the change refers to are read. */
async function framesOf(
  store: Store,
  run: RunRow,
  changes: readonly Change[],
): Promise<Map<string, readonly string[]>> {
  const frames = new Map<string, readonly string[]>();
  const seqs = new Set<number>();
  for (const change of changes) {
    collectFrames(change, frames);
    for (const { seq } of change.flatMap(stacksOf)) if (seq !== undefined) seqs.add(seq);
  }
  for (const seq of seqs)
    for await (const { checkpoint } of readHistory(store, run, { from: seq, to: seq }))
      collectFrames(checkpoint.change, frames);
  return frames;
}

function stacksOf({ error }: ChangePart): readonly StackNote[] {
  return [error?.stack, ...(error?.causes ?? []).map(({ stack }) => stack)].filter((stack) => stack !== undefined);
}

/** Adds the frames of all stacks that a change has, by the stack's id. */
export function collectFrames(change: Change, into: Map<string, readonly string[]>): void {
  for (const { id, frames } of change.flatMap(stacksOf)) if (frames !== undefined) into.set(id, frames);
}

/** Changes of a run with the frames of all their stacks in them, for who does not read the whole history. */
export async function wholeChanges(store: Store, run: RunRow, changes: readonly Change[]): Promise<readonly Change[]> {
  if (changes.every((change) => change.flatMap(stacksOf).length === 0)) return changes;
  const frames = await framesOf(store, run, changes);
  const whole = <Of extends { readonly stack?: StackNote }>(of: Of): Of => {
    const { stack } = of;
    const found = stack && frames.get(stack.id);
    return stack === undefined || found === undefined ? of : { ...of, stack: { id: stack.id, frames: found } };
  };
  const wholePart = (part: ChangePart): ChangePart => {
    const { error } = part;
    if (error === undefined) return part;
    const { causes } = error;
    return { ...part, error: { ...whole(error), ...(causes && { causes: causes.map(whole) }) } };
  };
  return changes.map((change) => change.map(wholePart));
}
