/** Keys of a composed node's calls: by name and call order in its record, and as idempotency keys for the outside (X1, X4). */
import type { StepRecord } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { checkId } from '../validate/check-id.ts';

/** The key of the next call with this name, by call order. */
export function nextStepKey(core: RunCore, activation: Activation, name: string): string {
  if (name !== '') checkId('step name', name, core.env.bounds.idBytes);
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
  activation.savedChildren ??= Object.entries(children).flatMap(([key, { born }]) =>
    born === undefined ? [] : [{ key, born }],
  );
  const saved = activation.savedChildren.filter(({ key }) => Object.hasOwn(children, key));
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
