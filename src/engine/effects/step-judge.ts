/** A step in doubt: it started, and its result is not on record (X). */
import { CairnError } from '../../errors.ts';
import type { StepOptions } from '../../graph/node-contract.ts';
import type { StepRecord } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';
import { judgeEffect, type Verdict } from './judge.ts';
import { offloadValue } from '../admit/offload.ts';
import { openWait } from '../waits/open-wait.ts';
import type { RunCore } from '../run/run-core.ts';
import { admitStep, finishStep } from '../record/finish-step.ts';
import { leaveAtWait } from '../waits/leave.ts';
import { never } from '../run/guard-call.ts';
import { ensureSteps, setStep } from '../record/step-record.ts';
import { doubtWait } from '../waits/wait.ts';

/** A step that started and has no result: undefined means that it runs again. */
export async function judgeStep(
  core: RunCore,
  activation: Activation,
  key: string,
  options: StepOptions,
  recorded: StepRecord,
): Promise<{ readonly output: unknown } | undefined> {
  const { generation } = activation;
  const intent = recorded.intent as NonNullable<StepRecord['intent']>;
  const original = async (): Promise<Verdict | undefined> => {
    const taken = await core.replay?.openStepOutcome(activation, key, intent);
    if (taken === 'refused') return { kind: 'none' };
    return taken === undefined ? undefined : { kind: 'happened', output: taken.output, by: 'replay' };
  };
  const verdict = await judgeEffect(core, {
    intent,
    isIdempotent: options.idempotent === true,
    applied: recorded.applied,
    decision: recorded.decision,
    original,
    onInDoubt: activation.node.onInDoubt,
    reconcile: options.reconcile,
  });
  const isOver = (): boolean => activation.generation !== generation || activation.phase !== 'running';
  if (isOver() || verdict.kind === 'none') return never();
  if (verdict.kind === 'run') return undefined;
  if (verdict.kind === 'happened') {
    const step: StepRecord = {
      kind: 'step',
      status: 'done',
      effect: recorded.effect ?? 'write',
      ...(recorded.hash === undefined ? {} : { hash: recorded.hash }),
      by: verdict.by,
    };
    const admitted = await offloadValue(core, admitStep(core, activation, key, verdict.output));
    if (isOver()) return never();
    return { output: finishStep(core, activation, key, step, admitted) };
  }
  if (verdict.kind === 'failed')
    throw new CairnError('EFFECT_IN_DOUBT', { node: [...activation.path, key].join('/'), decided: 'fail' });
  const path = activation.path;
  const waitId = openWait(
    core,
    activation,
    key,
    doubtWait({ node: path, step: key, effect: recorded.effect ?? 'write', intent }),
    recorded.wait,
  );
  if (recorded.wait === undefined) setStep(core, path, ensureSteps(activation), key, { ...recorded, wait: waitId });
  return leaveAtWait(core, activation, key);
}
