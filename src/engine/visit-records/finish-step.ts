/** Records the end of a call of a composed node: its validated output, and the part of the change that reports it (X4). */
import type { NodeRecord, StepRecord } from '../../state/tree.ts';
import type { FailureNote } from '../../history/stored/change.ts';
import type { Activation } from '../live-run/loop.ts';
import { CairnError, errorTable, type ErrorCode } from '../../errors.ts';
import { admitValue, type Admitted } from '../../state/values/codec.ts';
import { checkWritten } from '../validate/checkpoint-size.ts';
import { isEffect, type TakenRecord, type RunCore } from '../live-run/run-core.ts';
import { accountOf } from './account.ts';
import { enterEvents, visitOf } from './list-record.ts';
import { ensureSteps, setStep } from './step-record.ts';
import { checkId } from '../validate/admit-outcome.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';

// Numbers the ends of calls that were open at the same time (X4.13). Calls made one after another need no number.

/** The last number used, by record. */
const lastNumbers = new WeakMap<NodeRecord, number>();

/** The recorded numbers, ascending. */
export function endOrders({ steps = {}, children = {} }: NodeRecord): readonly number[] {
  const ended = [...Object.values(steps), ...Object.values(children)];
  return ended.flatMap(({ order }) => (order === undefined ? [] : [order])).toSorted((a, b) => a - b);
}

/** The number for a call that ends now. */
export function nextEndOrder(record: NodeRecord): number {
  const next = (lastNumbers.get(record) ?? endOrders(record).at(-1) ?? 0) + 1;
  lastNumbers.set(record, next);
  return next;
}

/**
 * The number, as a record field, for a call that ends while its function runs. Empty if the call overlaps no other, or belongs to one of
 * several parts of the work.
 */
export function orderIfOverlapping(activation: Activation, key: string): Pick<StepRecord, 'order'> {
  const isNumbered = activation.isOverlapping && !activation.isPart(key);
  const record = isNumbered ? activation.frameRun.openRecordOf(activation.node) : undefined;
  return record === undefined ? {} : { order: nextEndOrder(record) };
}

/**
 * Like {@link orderIfOverlapping}, for a wait. It may be closed while its function is not running, so the record tells whether other calls
 * are open.
 */
export function orderOfWait(
  record: NodeRecord,
  key: string,
  activation: Activation | undefined,
): Pick<StepRecord, 'order'> {
  const isBeside = ([other, { status, order }]: readonly [string, StepRecord]): boolean =>
    other !== key && (status === 'open' || status === 'started' || order !== undefined);
  if (activation?.isPart(key) === true) return {};
  const overlaps =
    activation?.isOverlapping === true ||
    Object.keys(record.children ?? {}).length > 0 ||
    Object.entries(record.steps ?? {}).some(isBeside);
  return overlaps ? { order: nextEndOrder(record) } : {};
}

/** Number of steps in a table, cached after it was counted once. */
const counts = new WeakMap<object, number>();

/** Drops the cached number, because steps were retired. */
export function recountSteps({ steps }: NodeRecord): void {
  if (steps !== undefined) counts.delete(steps);
}

/** @throws RUN_LIMIT the visit has as many steps as allowed */
export function checkStepCount(core: RunCore, record: NodeRecord): void {
  const steps = record.steps ?? {};
  const count = counts.get(steps) ?? Object.keys(steps).length;
  counts.set(steps, count + 1);
  if (count >= core.env.limits.steps)
    throw new CairnError('RUN_LIMIT', { limit: 'steps', value: core.env.limits.steps });
}

/** Validates a step's output. @throws VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE */
export function admitStep(core: RunCore, activation: Activation, key: string, value: unknown): Admitted {
  const path = ['outputs', activation.node.id, key];
  const admitted = admitValue(value, path, core.env.limits, core.secrets.intake);
  checkWritten(core, activation, () => [{ path, ...admitted }], key);
  return admitted;
}

/** Records the end of a step and returns its stored output. `from`: the ancestor's record that it was taken over from. */
export function finishStep(
  core: RunCore,
  activation: Activation,
  key: string,
  step: StepRecord,
  admitted: Admitted,
  from?: TakenRecord,
): unknown {
  ensureSteps(activation);
  const { value } = admitted;
  const ended = { ...step, ...orderIfOverlapping(activation, key) };
  setStep(
    core,
    activation.path,
    key,
    value === undefined ? ended : { ...ended, output: value },
    value === undefined ? undefined : admitted.json,
  );
  // What follows from a finished effect waits until the result is durable (E3).
  if (isEffect({ effect: step.effect ?? 'pure' })) core.draft.holdsEffect = true;
  noteStep(core, activation, key, step, from === undefined ? {} : { from });
  return value;
}

/** Adds a step to the next checkpoint's change, and requests one. If the wait was ended before it was opened, the part says by whom. */
export function noteStep(
  core: RunCore,
  activation: Activation,
  key: string,
  step: StepRecord,
  more: { readonly from?: TakenRecord; readonly error?: FailureNote } = {},
): void {
  const { kind, attempt, status, hash, asked, by } = step;
  const { from, error } = more;
  const isWait = kind !== 'step';
  const effect = isWait ? 'human' : (step.effect ?? 'pure');
  enterEvents(core, activation);
  const { unreportedReads } = activation;
  activation.unreportedReads = [];
  core.draft.note({
    kind: 'step',
    node: activation.path,
    step: key,
    effect,
    ...(attempt === undefined ? {} : { attempt }),
    ...(status === 'done' ? {} : { status }),
    ...(hash === undefined ? {} : { hash }),
    ...(asked === undefined ? {} : { asked }),
    ...accountOf(step),
    ...(isWait && by !== undefined ? { by } : {}),
    ...(from === undefined ? {} : { from: { runId: from[0], seq: from[1] } }),
    ...(error === undefined ? {} : { error }),
    ...(unreportedReads.length === 0 ? {} : { reads: unreportedReads }),
    ...visitOf(activation),
  });
  core.loop.requestFlush();
}

// Keys of a composed node's calls: by name and call order in its record, and as idempotency keys for the outside (X1, X4).

/** The key of the next call with this name, by call order. */
export function nextStepKey(core: RunCore, activation: Activation, name: string): string {
  if (name !== '') checkId('step name', name, core.env.limits.idBytes);
  return nthKey(activation, name);
}

function nthKey(activation: Activation, name: string): string {
  const key = upcomingKey(activation, name);
  (activation.ordinals ??= new Map()).set(name, countedCalls(activation, name) + 1);
  (activation.calls ??= []).push(key);
  return key;
}

/** The key that the next call with this name will have. */
export function upcomingKey(activation: Activation, name: string): string {
  return callKey(name, countedCalls(activation, name) + 1);
}

/** Whether the next call with this name is on record already, as a step, a wait or a child run; or a list of this name. */
export function isOnRecord(activation: Activation, name: string): boolean {
  const { steps = {}, children = {}, lists = {} } = activation.frameRun.openRecordOf(activation.node) ?? {};
  const key = upcomingKey(activation, name);
  return Object.hasOwn(steps, key) || Object.hasOwn(children, key) || Object.hasOwn(lists, name);
}

/** Number of calls with this name that this attempt has made, those that were retired before it among them. */
function countedCalls(activation: Activation, name: string): number {
  return activation.ordinals?.get(name) ?? retiredCalls(activation, name);
}

/** Counts a recorded call as made by this attempt, which does not repeat it. */
export function passKey(activation: Activation, key: string): void {
  const name = nameOfStepKey(key);
  const ordinal = ordinalOf(key, callKey(name, 1)) ?? 1;
  if (ordinal <= countedCalls(activation, name)) return;
  (activation.ordinals ??= new Map()).set(name, ordinal);
  (activation.calls ??= []).push(key);
}

export function callKey(name: string, ordinal: number): string {
  // A NUL in the author's name is doubled, so that no name looks like the n-th call of another.
  const own = name.includes('\0') ? name.replaceAll('\0', '\0\0') : name;
  return ordinal === 1 ? own : `${own}\0${ordinal}`;
}

/** Number of retired calls with this name. A repeated function continues counting after them. */
export function retiredCalls({ frameRun, node }: Activation, name: string): number {
  const calls = frameRun.openRecordOf(node)?.retired?.calls;
  return calls !== undefined && Object.hasOwn(calls, name) ? (calls[name] as number) : 0;
}

/** The number of the call that a key belongs to, counted from 1; undefined if the key is not of this name. */
function ordinalOf(key: string, own: string): number | undefined {
  if (key === own) return 1;
  const rest = key.startsWith(`${own}\0`) ? key.slice(own.length + 1) : '';
  return /^\d+$/.test(rest) ? Number(rest) : undefined;
}

/** The key of the next child run with this name. Child runs that outlived a save come first, in the order in which they began. */
export function nextChildKey(core: RunCore, activation: Activation, name: string): string {
  const { children = {} } = activation.frameRun.openRecordOf(activation.node) ?? {};
  const own = callKey(name, 1);
  const saved = Object.entries(children).flatMap(([key, { born }]) => (born === undefined ? [] : [{ key, born }]));
  const [next] = saved
    .map(({ key, born }) => ({ key, born, ordinal: ordinalOf(key, own) ?? 0 }))
    .filter(({ key, ordinal }) => ordinal > 0 && activation.attached?.has(key) !== true)
    .toSorted((a, b) => a.born - b.born || a.ordinal - b.ordinal);
  if (next !== undefined) {
    (activation.attached ??= new Set()).add(next.key);
    return next.key;
  }
  for (;;) {
    const key = nextStepKey(core, activation, name);
    if (!saved.some((child) => child.key === key)) return key;
  }
}

/** The key of the next call of some kind to a child run. */
export function nextCallKey(activation: Activation, child: string, call: string): string {
  return nthKey(activation, `${child}\0${call}`);
}

/** Whether a key is that of a call to this child run. */
export function isCallTo(child: string, key: string): boolean {
  return key.startsWith(callKey(`${child}\0`, 1));
}

/** The name in a key. */
export function nameOfStepKey(key: string): string {
  return key.replace(/(?<=(?:^|[^\0])(?:\0\0)*)\0\d+$/u, '').replaceAll('\0\0', '\0');
}

/** The record of a call in this visit; undefined if there is none. */
export function recordedStep(activation: Activation, key: string): StepRecord | undefined {
  const steps = activation.frameRun.openRecordOf(activation.node)?.steps;
  return steps !== undefined && Object.hasOwn(steps, key) ? steps[key] : undefined;
}

/**
 * A call's key that is unique across saves. After `ctx.save` names are used again, but effects, questions and children must differ (X1,
 * W1).
 *
 * @param born - for a child run that outlived a save: the number of saves before it began
 */
export function keyAcrossSaves(activation: Activation, key: string, born?: number): string {
  const saves = born ?? activation.frameRun.openRecordOf(activation.node)?.saves ?? 0;
  return saves === 0 ? key : `${key}\0save${saves}`;
}

/** The idempotency key of a step, with the key seed of its run or of an ancestor. */
export function effectKey(activation: Activation, key: string, keySeed: string): string {
  return activation.keyFor(keySeed, keyAcrossSaves(activation, key));
}

// The error of a failed step as its function sees it: the same whether the step failed just now or earlier (P1).

type StoredError = Error & { readonly code?: unknown; readonly data?: unknown };

/**
 * The error to throw for a failed step. It is made from the record and is not the original error, because a repeated function would not get
 * that. Our own errors get their classes again; of others, name, message, code, data and cause remain.
 * @param stack - where it was thrown, if that was just now
 */
export function failureOf({ error, applied }: Pick<StepRecord, 'error' | 'applied'>, stack?: string): unknown {
  if (!(error instanceof Error)) return error;
  const again = reborn(error, applied);
  if (stack !== undefined) hide(again, 'stack', stack);
  return again;
}

function reborn(error: StoredError, applied: StepRecord['applied']): Error {
  const { name, message, code, data } = error;
  const cause = Object.hasOwn(error, 'cause') ? { cause: error.cause } : {};
  if (name === 'NodeFailure')
    return new NodeFailure(message, {
      ...(typeof code === 'string' && { code }),
      data,
      applied: applied ?? 'unknown',
      ...cause,
    });
  if (name === 'CairnError' && typeof code === 'string' && Object.hasOwn(errorTable, code)) {
    const ours = new CairnError(code as ErrorCode, data as Readonly<Record<string, unknown>>, cause);
    hide(ours, 'message', message);
    return ours;
  }
  const other = new Error(message, cause);
  if (name !== 'Error') hide(other, 'name', name);
  return Object.assign(other, code !== undefined && { code }, data !== undefined && { data }, applied && { applied });
}

function hide(error: Error, name: string, value: unknown): void {
  Object.defineProperty(error, name, { value, enumerable: false, configurable: true, writable: true });
}
