/** The intent of a `write` or `external` step: durable before the step begins, withdrawn if it does not (E3, E4). */
import { CairnError } from '../../errors.ts';
import type { StepOptions } from '../../graph/node-contract.ts';
import type { StepRecord } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import { guardCall, never } from '../run/guard-call.ts';
import { recordedStep } from '../record/step-keys.ts';
import { deleteStep, ensureSteps, setStep } from '../record/step-record.ts';
import { noteWithdrawal } from '../record/withdraw-intent.ts';
import { visitOf, visitText } from '../record/visit-part.ts';

/** One call of `ctx.step`, as all its attempts share it. */
export interface StepCall {
  readonly key: string;
  readonly effect: string;
  readonly hash: string;
  /** The same for every attempt, in forks too (X1). */
  readonly idempotencyKey: string;
  readonly options: StepOptions;
}

/** Makes the intent durable, with everything before it, and only then returns; never returns if the step must not begin any more. @throws NODE_CALL_REFUSED the function that called it is over */
export async function writeStepIntent(
  core: RunCore,
  activation: Activation,
  call: StepCall,
  attempt: number,
): Promise<void> {
  const { key, effect, hash, idempotencyKey, options } = call;
  const { generation } = activation;
  if (isStopped(activation, generation)) guardCall(activation, generation, 'step');
  const { clock, ids, limits } = core.env;
  const before = recordedStep(activation, key);
  const deadlineAt = clock.now() + (options.timeoutMs ?? limits.effectMs);
  const step: StepRecord = {
    kind: 'step',
    status: 'started',
    effect,
    hash,
    intent: { key: idempotencyKey, attempt, deadlineAt, by: ids.workerId },
    ...(attempt > 1 ? { attempt } : {}),
  };
  setStep(core, activation.path, ensureSteps(activation), key, step);
  core.committer.note(
    `{"kind":"intent","node":${JSON.stringify(activation.path)},"step":${JSON.stringify(key)},"effect":"${effect}"${visitText(activation)}}`,
  );
  core.gatedCount += 1;
  await core.durable();
  core.gatedCount -= 1;
  if (clock.monotonic() >= core.leaseUntilMs) {
    core.fail(new CairnError('CLAIM_LOST', { runId: core.runId }));
    await never();
  }
  const isOver = isStopped(activation, generation);
  if (!isOver && (!core.isStopping || core.isOnlyFailing)) return;
  if (activation.generation === generation && activation.phase === 'running')
    withdrawStep(core, activation, call, before);
  if (isOver) guardCall(activation, generation, 'step');
  await never();
}

function isStopped(activation: Activation, generation: number): boolean {
  return activation.isStopped && activation.generation === generation;
}

/** The step was announced and does not begin: it is as it was before. */
function withdrawStep(
  core: RunCore,
  activation: Activation,
  { key, effect }: StepCall,
  before: StepRecord | undefined,
): void {
  const record = ensureSteps(activation);
  if (before === undefined) deleteStep(core, activation.path, record, key);
  else setStep(core, activation.path, record, key, before);
  noteWithdrawal(
    core,
    { node: activation.path, step: key, effect, ...visitOf(activation) },
    before?.intent !== undefined,
  );
  core.requestTurn();
}
