/** Foresees questions about effects below an activation: in its steps and its child runs (X3, X5). */
import { recordedDoubt } from '../effects/judge.ts';
import { decideDoubt } from '../plan/decide-doubt.ts';
import type { BegunEffect } from '../record/settle-record.ts';
import { effectKey } from '../record/finish-step.ts';
import type { Activation } from '../run/loop.ts';
import type { Due, RunCore } from '../run/run-core.ts';

/**
 * Whether somebody is asked when the activation's function makes its calls again. Only the code of a call knows whether it can look up
 * itself what happened; that is not foreseen.
 */
export async function asksAbout(
  { replay }: RunCore,
  activation: Activation,
  begun: readonly BegunEffect[],
): Promise<boolean> {
  for (const { step, record } of begun) {
    if (decideDoubt(recordedDoubt(record, activation.node.onInDoubt)) !== 'ask') continue;
    if (replay === undefined) return true;
    // The original of a fork may have recorded the end. For child runs that is not looked up.
    if (step === undefined) continue;
    if ((await replay.originalEnd(dueStep(activation, step), record.intent)) === undefined) return true;
  }
  return false;
}

function dueStep(activation: Activation, stepKey: string): Due {
  const keyIn = (keySeed: string): string => effectKey(activation, stepKey, keySeed);
  return { activation, stepKey, effect: 'external', givenHash: undefined, keyIn };
}
