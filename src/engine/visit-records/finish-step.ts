/** Records the end of a call of a composed node: its validated output, and the part of the change that reports it (X4). */
import type { NodeRecord, StepRecord } from '../../state/tree.ts';
import type { FailureNote } from '../../history/stored/change.ts';
import type { Activation } from '../live-run/loop.ts';
import { CairnError } from '../../errors.ts';
import { admitValue, type Admitted } from '../../state/values/admit.ts';
import { checkWritten } from '../validate/checkpoint-size.ts';
import { isEffect, type TakenRecord, type RunCore } from '../live-run/run-core.ts';
import { accountOf } from './account.ts';
import { enterEvents } from './recorded-events.ts';
import { visitOf } from './visit-part.ts';
import { ensureSteps, setStep } from './step-record.ts';
import { orderIfOverlapping } from './call-order.ts';

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
  if (count >= core.env.bounds.steps)
    throw new CairnError('RUN_LIMIT', { limit: 'steps', value: core.env.bounds.steps });
}

/** Validates a step's output. @throws VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE */
export function admitStep(core: RunCore, activation: Activation, key: string, value: unknown): Admitted {
  const path = ['outputs', activation.node.id, key];
  const admitted = admitValue(value, path, core.env.bounds, core.secrets.intake);
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
