/** What a parent does to its child runs. Each call is recorded in one checkpoint with its effect, so it happens once (W6). */
import { admitValue, type Admitted } from '../../state/values/admit.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { StepRecord, WaitRecord } from '../../state/tree.ts';
import { offloadForm } from '../validate/offload.ts';
import { checkStepCount, finishStep } from '../visit-records/finish-step.ts';
import { keyAcrossSaves, recordedStep } from '../visit-records/call-keys.ts';
import { ensureSteps } from '../visit-records/step-record.ts';
import type { Activation, LiveChild } from '../live-run/loop.ts';
import { never, refusal, type RunCore } from '../live-run/run-core.ts';
import { recordSignal } from '../waits/early-signals.ts';
import { giveBack, inTurn } from '../waits/give-back.ts';
import { beginCall, endCall } from '../waits/leave-at-wait.ts';
import { sentByParent } from '../waits/wait.ts';
import { closeWait } from '../waits/open-wait.ts';

const nothing: Admitted = { value: undefined, json: 'null', hasTags: false };

/**
 * Does something once, under a key of the parent. @param prepare - validates the call's arguments; the function it returns is run
 * together with recording the call
 */
export async function callOnce(
  core: RunCore,
  activation: Activation,
  key: string,
  prepare: () => Promise<() => void>,
): Promise<void> {
  const recorded = recordedStep(activation, key);
  if (recorded !== undefined) return void (await giveBack(core, activation, recorded, false));
  const { generation } = activation;
  beginCall(core, activation);
  try {
    const refused = refusal(core, activation);
    if (refused !== undefined) await refused;
    const act = await prepare();
    if (activation.generation !== generation || activation.phase !== 'running') return await never();
    checkStepCount(core, ensureSteps(activation));
    const done: StepRecord = { kind: 'call', status: 'done' };
    act();
    finishStep(core, activation, key, done, nothing);
    core.draft.mustCommit = true;
    await inTurn(core, activation, recordedStep(activation, key)?.order);
  } finally {
    if (activation.generation === generation) endCall(core, activation);
  }
}

/**
 * Validates a signal and returns a function that delivers it to the child run: to its oldest wait of that name, else it is pending there.
 * @throws VALUE_UNSTORABLE, VALUE_TOO_LARGE
 */
export async function sendSignal(
  core: RunCore,
  activation: Activation,
  { frameRun }: LiveChild,
  { key, name, value }: { readonly key: string; readonly name: string; readonly value: unknown },
): Promise<() => void> {
  const admitted = admitValue(value, [...frameRun.nodePath, 'signal', name], core.env.bounds, core.secrets.intake);
  const form = await offloadForm(core, admitted.value);
  const id = keyAcrossSaves(activation, key);
  return () => {
    if (frameRun.plan.isDone || frameRun.hasFailed || frameRun.isCancelled) return;
    const isMeant = ([, wait]: readonly [string, WaitRecord]): boolean =>
      wait.kind === 'signal' && wait.name === name && frameRun.nodePath.every((part, at) => wait.node[at] === part);
    const [waitId] = Object.entries(core.root.waits).find(isMeant) ?? [];
    if (waitId === undefined)
      return recordSignal(core, frameRun, id, { signal: name, value: admitted.value, by: sentByParent }, form);
    closeWait(core, waitId, { output: admitted.value, outputJson: encodeValue(form), by: sentByParent });
  };
}
