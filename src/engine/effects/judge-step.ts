/** Carries out the verdict about a step in doubt (X3). */
import { CairnError, reasonOf } from '../../errors.ts';
import type { Intent, StepRecord, ToldEnd } from '../../state/tree.ts';
import { offloadValue } from '../validate/offload.ts';
import { forgetDecision, type StepEffort } from '../visit-records/intent.ts';
import { Charge } from '../live-run/attempt-scope.ts';
import { book } from '../visit-records/account.ts';
import { admitStep, finishStep } from '../visit-records/finish-step.ts';
import { failureOf } from '../visit-records/step-failure.ts';
import { recordedStep } from '../visit-records/call-keys.ts';
import { setStep } from '../visit-records/step-record.ts';
import { never, type OriginalEnd, type TakenRecord, type TakenStep, type RunCore } from '../live-run/run-core.ts';
import { type DoubtReason, doubtWait } from '../waits/wait.ts';
import { leaveAtWait } from '../waits/leave-at-wait.ts';
import { openWait } from '../waits/open-wait.ts';
import type { DoubtedEffect } from '../visit-records/settle-record.ts';
import { chargeOf, judge } from './judge.ts';

/**
 * Judges a step that was started and has no result.
 *
 * @param isCurrent - returns whether the calling attempt still runs
 * @returns the step's output; or the end of an attempt that another process made, which failed; undefined if the step is to run again
 * @throws EFFECT_IN_DOUBT a person, or the node's `onInDoubt`, decided that it fails
 */
export async function judgeStep(
  core: RunCore,
  effort: StepEffort,
  isCurrent: () => boolean,
): Promise<JudgedStep | undefined> {
  const { activation, stepKey: key } = effort;
  const verdict = await judge(core, effort, activation.node.onInDoubt);
  if (!isCurrent()) return never();
  if (verdict.kind === 'run') {
    if (verdict.isAgain === true && effort.isModelCall) countUnknown(core, effort);
    return undefined;
  }
  if (verdict.kind === 'told') return takeTold(core, effort, isCurrent, verdict.told);
  if (verdict.kind === 'original') return judgeByOriginal(core, effort, isCurrent, verdict.end);
  if (verdict.kind === 'happened') {
    const { returned, by } = verdict;
    const read = by === 'person' ? outputOfAnswer(effort, returned) : { output: returned };
    if ('output' in read) return recordKnownEnd(core, effort, isCurrent, read.output, by);
    forgetDecision(effort);
    return askWhetherItHappened(core, effort, isCurrent, { because: read.fault });
  }
  if (verdict.kind === 'fail') throw new CairnError('EFFECT_IN_DOUBT', { node: effort.name, decided: 'fail' });
  // The question was answered while the step was judged.
  if (recordedStep(activation, key)?.decision !== undefined) return judgeStep(core, effort, isCurrent);
  return askWhetherItHappened(core, effort, isCurrent, verdict);
}

/** Of a call that nobody would be asked about, such as a model's, it is counted that its answer was lost, and with it what it cost. */
function countUnknown(core: RunCore, effort: StepEffort): void {
  const charge = new Charge(effort.activation, effort);
  charge.spent = { unknownCalls: 1 };
  book(core, charge);
}

/** An attempt of a step that another process made, and that failed there. */
export interface FailedAttempt {
  readonly failure: unknown;
  readonly charge: Charge;
}

type JudgedStep = { readonly output: unknown } | FailedAttempt;

async function takeTold(
  core: RunCore,
  effort: StepEffort,
  isCurrent: () => boolean,
  told: ToldEnd,
): Promise<JudgedStep> {
  const charge = chargeOf(effort.activation, effort, told);
  if (told.end === 'failed') return { failure: failureOf(told), charge };
  const note = (): void => book(core, charge);
  return recordKnownEnd(core, effort, isCurrent, told.outcome.output, 'owner', { note });
}

/** What a person says that the effect gave, as the step's own output; or why it cannot be that. */
function outputOfAnswer(
  { options: { readAnswer } }: StepEffort,
  answer: unknown,
): { readonly output: unknown } | { readonly fault: string } {
  try {
    return { output: readAnswer === undefined ? answer : readAnswer(answer) };
  } catch (error) {
    return { fault: reasonOf(error) };
  }
}

/** Stops at the question whether the effect happened, and judges it again when that is answered. */
async function askWhetherItHappened(
  core: RunCore,
  effort: StepEffort,
  isCurrent: () => boolean,
  why: DoubtReason,
): Promise<JudgedStep | undefined> {
  const { activation, stepKey: key } = effort;
  const recorded = recordedStep(activation, key) as StepRecord;
  const { effect = effort.effect, intent, wait } = recorded;
  const { answerSchema } = effort.options;
  const doubted: DoubtedEffect = {
    node: activation.path,
    step: key,
    effect,
    intent: intent as Intent,
    ...(answerSchema && { answerSchema }),
  };
  const question = doubtWait(doubted, recorded, why);
  const waitId = openWait(core, activation, key, question, wait);
  if (wait === undefined) setStep(core, activation.path, key, { ...recorded, wait: waitId });
  await leaveAtWait(core, activation, key, true);
  if (!isCurrent()) return never();
  activation.beginEffect(key);
  return judgeStep(core, effort, isCurrent);
}

/** Takes over an end that the fork's original has recorded meanwhile, once. If the effect may have happened there, it is judged again. */
async function judgeByOriginal(
  core: RunCore,
  effort: StepEffort,
  isCurrent: () => boolean,
  end: OriginalEnd,
): Promise<JudgedStep | undefined> {
  if (end.kind !== 'step') return never();
  return (await takeStep(core, effort, isCurrent, end.taken)) ?? judgeStep(core, effort, isCurrent);
}

/**
 * Records what a fork takes over of a step. @returns its output; undefined if the effect may have happened in the original and must be
 * judged
 */
export async function takeStep(
  core: RunCore,
  effort: StepEffort,
  isCurrent: () => boolean,
  taken: TakenStep,
): Promise<{ readonly output: unknown } | undefined> {
  const note = (): void => core.replay?.noteStep(effort.activation, effort, taken);
  const { from, step } = taken;
  if (step.status === 'done') return recordKnownEnd(core, effort, isCurrent, step.output, undefined, { from, note });
  note();
  const { spent: _, spared: __, ...there } = step;
  setStep(core, effort.activation.path, effort.stepKey, { ...there, ...effort.account });
  return undefined;
}

/**
 * Records the known result of a step without running it. `taken`: the ancestor's record it comes from, and what must be recorded in the
 * same checkpoint.
 */
export async function recordKnownEnd(
  core: RunCore,
  effort: StepEffort,
  isCurrent: () => boolean,
  output: unknown,
  by: string | undefined,
  taken?: { readonly from?: TakenRecord; readonly note: () => void },
): Promise<{ readonly output: unknown }> {
  const { activation, stepKey: key, effect, hash } = effort;
  const admitted = await offloadValue(core, admitStep(core, activation, key, output));
  if (!isCurrent()) return never();
  taken?.note();
  const step: StepRecord = {
    kind: 'step',
    status: 'done',
    effect,
    hash,
    ...effort.account,
    ...(by === undefined ? {} : { by }),
  };
  return { output: finishStep(core, activation, key, step, admitted, taken?.from) };
}
