/** What all recorded calls of a composed node share: their keys, their records, and leaving the function (X4). */
import { CairnError } from '../errors.ts';
import { admitValue, type Admitted } from '../state/codec.ts';
import type { NodeRecord, StepRecord } from '../state/tree.ts';
import type { Activation } from './activation.ts';
import { checkId } from './admit-run.ts';
import { checkWritten } from './checkpoint-size.ts';
import { isEffect } from './effect.ts';
import { maybeLeave } from './leave.ts';
import type { RunCore } from './run-core.ts';
import { ensureSteps, setStep } from './step-record.ts';
import { visitText } from './visit-part.ts';

/** A promise for what will never come in this attempt: the function is left where it stands. */
export const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** @throws NODE_CALL_REFUSED the attempt is over, or the node's class cannot be composed */
export function guardCall(activation: Activation, generation: number, call: string): void {
  const refuse = (reason: string): never => {
    throw new CairnError('NODE_CALL_REFUSED', { call, node: activation.path.join('/'), reason });
  };
  if (activation.generation !== generation || activation.phase !== 'running' || activation.isEnding)
    refuse('this attempt is over');
  if (activation.isCancelled) refuse('it was cancelled, since a join needs it no more');
  if (isEffect(activation.node))
    refuse(
      `a node of class ${activation.node.effect} cannot be composed; make it read, and its steps ${activation.node.effect}`,
    );
}

/** The key of the n-th call of a name, by call order. */
export function nextStepKey(core: RunCore, activation: Activation, name: string): string {
  if (name !== '') checkId('step name', name, core.env.limits.idBytes);
  activation.ordinals ??= new Map();
  const ordinal = (activation.ordinals.get(name) ?? 0) + 1;
  activation.ordinals.set(name, ordinal);
  // A NUL of the author's own is doubled, so that no name looks like the n-th call of another.
  const own = name.includes('\0') ? name.replaceAll('\0', '\0\0') : name;
  return ordinal === 1 ? own : `${own}\0${ordinal}`;
}

/** What is recorded of a call of this visit. */
export function recordedStep(activation: Activation, key: string): StepRecord | undefined {
  const steps = activation.frameRun.openRecordOf(activation.node)?.steps;
  return steps !== undefined && Object.hasOwn(steps, key) ? steps[key] : undefined;
}

/** A call's key among those of all saves: names recur after ctx.save, their effects, questions and children must not (X1, W1). */
export function keyAcrossSaves(activation: Activation, key: string): string {
  const saves = activation.frameRun.openRecordOf(activation.node)?.saves ?? 0;
  return saves === 0 ? key : `${key}\0save${saves}`;
}

/** The idempotency key of a step of this activation, in the run it is part of or in one it was forked from. */
export function effectKey(activation: Activation, key: string, runId: string): string {
  return activation.keyFor(runId, keyAcrossSaves(activation, key));
}

/** @throws RUN_LIMIT the visit has as many steps as it may */
export function checkStepCount(core: RunCore, record: NodeRecord): void {
  const count = (record as NodeRecord & { stepCount?: number }).stepCount ?? Object.keys(record.steps ?? {}).length;
  Object.defineProperty(record, 'stepCount', {
    value: count + 1,
    enumerable: false,
    writable: true,
    configurable: true,
  });
  if (count >= core.env.limits.steps)
    throw new CairnError('RUN_LIMIT', { limit: 'steps', value: core.env.limits.steps });
}

/** A step's output, taken in. @throws VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE */
export function admitStep(core: RunCore, activation: Activation, key: string, value: unknown): Admitted {
  const path = ['outputs', activation.node.id, key];
  const admitted = admitValue(value, path, core.env.limits, core.redact);
  checkWritten(core, activation, () => [{ path, ...admitted }], key);
  return admitted;
}

/** Records the end of a step and returns its output as it was stored. */
export function finishStep(
  core: RunCore,
  activation: Activation,
  key: string,
  step: StepRecord,
  admitted: Admitted,
): unknown {
  const record = ensureSteps(activation);
  const { value } = admitted;
  setStep(
    core,
    activation.path,
    record,
    key,
    value === undefined ? step : { ...step, output: value },
    value === undefined ? undefined : admitted.json,
  );
  // What follows from a finished effect waits until it is durable (E3).
  if (isEffect({ effect: step.effect ?? 'pure' })) core.holdsEffect = true;
  noteStep(core, activation, key, step);
  return value;
}

/** Adds a step to the next checkpoint's change, and asks for one. */
export function noteStep(core: RunCore, activation: Activation, key: string, step: StepRecord): void {
  const attempt = step.attempt === undefined ? '' : `,"attempt":${step.attempt}`;
  const status = step.status === 'done' ? '' : `,"status":"${step.status}"`;
  const hash = step.hash === undefined ? '' : `,"hash":"${step.hash}"`;
  core.committer.note(
    `{"kind":"step","node":${JSON.stringify(activation.path)},"step":${JSON.stringify(key)},"effect":"${step.effect ?? 'pure'}"${attempt}${status}${hash}${visitText(activation)}}`,
  );
  core.requestFlush();
}

/** The call of this key will not return in this attempt. */
export function leaveAtWait<T>(core: RunCore, activation: Activation, key: string): Promise<T> {
  activation.endEffect(key);
  activation.leavePart(key);
  activation.openWaits += 1;
  activation.stepsInFlight -= 1;
  maybeLeave(core, activation);
  return never<T>();
}
