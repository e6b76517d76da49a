/**
 * Visits that go on where they were begun otherwise: in a fork, or under changed code. Their functions are repeated from the top, and may
 * make other calls than those on record. A visit that is neither repeats itself, and needs none of this.
 */
import type { FrameTree, NodeRecord, StepRecord } from '../../state/tree.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import type { Activation } from '../live-run/loop.ts';
import { isEffect, type RunCore } from '../live-run/run-core.ts';
import { recordPathOf } from './node-path.ts';

type Continued = NonNullable<NodeRecord['continued']>;

/**
 * Notes how the open visits go on that have calls on record. Under new code they are held to their record again, also those that had begun
 * before a fork.
 * @param except - visits that are left as they are
 */
export function noteContinued(state: TreeWriter, how: Continued, except?: Continued): void {
  noteFrame(state, { how, except }, ['frame'], state.root.frame);
}

function noteFrame(
  state: TreeWriter,
  note: { readonly how: Continued; readonly except: Continued | undefined },
  path: readonly string[],
  { nodes }: FrameTree,
): void {
  for (const [id, record] of Object.entries(nodes)) {
    const { steps = {}, children = {} } = record;
    if (record.fired !== undefined || Object.keys(steps).length + Object.keys(children).length === 0) continue;
    const at = [...path, 'nodes', id];
    if (record.continued !== note.how && (note.except === undefined || record.continued !== note.except))
      state.set([...at, 'continued'], note.how);
    for (const [key, child] of Object.entries(children)) noteFrame(state, note, [...at, 'children', key], child);
  }
}

function continuedOf({ frameRun, node }: Activation): NodeRecord['continued'] {
  return frameRun.openRecordOf(node)?.continued;
}

/**
 * Whether the function may make other calls than those on record, because the run was forked within the visit. It may until it has made one
 * or has come to a wait: then the fork has a record of its own, which its later repetitions follow.
 */
export function mayCallOtherwise(activation: Activation): boolean {
  const continued = continuedOf(activation);
  return continued === 'forked' || continued === 'forked-for-any';
}

/** Call when a function stops at a wait. In a fork it has then come as far as its record leads. */
export function noteLeft(core: RunCore, activation: Activation): void {
  if (noteNewCall(core, activation)) core.draft.mustCommit = true;
}

/**
 * Call when a function makes a call that is not on record. In a fork, recorded calls that it has not made so far are left to the original.
 * @returns whether anything was noted
 */
export function noteNewCall({ draft }: RunCore, activation: Activation): boolean {
  if (!mayCallOtherwise(activation)) return false;
  const at = recordPathOf(activation.path);
  const called = new Set(activation.calls);
  const { steps = {}, children = {}, lists = {} } = activation.frameRun.openRecordOf(activation.node) ?? {};
  for (const [table, keys] of Object.entries({ steps: Object.keys(steps), children: Object.keys(children) }))
    for (const key of keys) if (!called.has(key)) draft.set([...at, table, key, 'left'], true, 'true');
  const counts = Object.entries(lists).map(([list, calls]) => [list, calls.length] as const);
  if (counts.length > 0) draft.set([...at, 'listsLeft'], Object.fromEntries(counts));
  draft.delete([...at, 'continued']);
  return true;
}

/**
 * Recorded effects that a function under changed code has not called so far: of this visit, and of those that began the run that it is in.
 * Only a function that has called them may begin another effect: it may be one of them under another name (X4.18).
 */
export function uncalledEffects(activation: Activation): readonly string[] {
  const uncalled: string[] = [];
  for (let at: Activation | undefined = activation; at !== undefined; at = at.frameRun.starter) {
    const record = at.frameRun.openRecordOf(at.node);
    if (record?.continued !== 'recoded') continue;
    const called = new Set(at.calls);
    for (const [key, step] of Object.entries(record.steps ?? {}))
      if (!called.has(key) && mayHaveHappened(step)) uncalled.push(key);
    // What a child run has done outside is known to its graph alone, which the function did not name.
    for (const [key, { left }] of Object.entries(record.children ?? {}))
      if (left !== true && !called.has(key)) uncalled.push(key);
  }
  return uncalled;
}

function mayHaveHappened({ kind, status, effect = 'pure', intent, applied, left }: StepRecord): boolean {
  if (kind !== 'step' || left === true || !isEffect({ effect }) || intent?.forgettable === true) return false;
  return status === 'done' || (intent !== undefined && applied !== 'no');
}

/** Call when a function under changed code has called every effect on record: it has come to what is new, and is free from here. */
export function noteCaughtUp({ draft }: RunCore, activation: Activation): void {
  if (continuedOf(activation) === 'recoded') draft.delete([...recordPathOf(activation.path), 'continued']);
}
