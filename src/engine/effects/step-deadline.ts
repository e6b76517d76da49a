/** A step's deadline: when it passes, the step is told to stop and fails (E6, O2). */
import { CairnError } from '../../errors.ts';
import type { StepContext } from '../../graph/node-contract.ts';
import type { Activation } from '../run/frame-run.ts';
import { isEffect } from '../run/effect.ts';
import type { RunCore } from '../run/run-core.ts';
import type { StepCall } from './step-intent.ts';

/** Calls the step's function. Effects without a timeout of their own have the limit's, since another owner waits no longer. @throws NODE_TIMED_OUT */
export async function withDeadline<T>(
  core: RunCore,
  activation: Activation,
  call: StepCall,
  attempt: number,
  fn: (step: StepContext) => Promise<T> | T,
): Promise<T> {
  const { idempotencyKey, options } = call;
  const { clock, limits } = core.env;
  const timeoutMs = options.timeoutMs ?? (isEffect(call) ? limits.effectMs : undefined);
  const late = new AbortController();
  let signal: AbortSignal | undefined;
  const step: StepContext = {
    idempotencyKey,
    attempt,
    get signal() {
      return (signal ??=
        timeoutMs === undefined ? activation.signal : AbortSignal.any([activation.signal, late.signal]));
    },
  };
  if (timeoutMs === undefined) return fn(step);
  let cancel = (): void => {};
  const timedOut = new Promise<never>((_, reject) => {
    cancel = clock.setTimer(timeoutMs, () => {
      const error = new CairnError('NODE_TIMED_OUT', { node: activation.path.join('/'), timeoutMs });
      reject(error);
      late.abort(error);
    });
  });
  try {
    return await Promise.race([fn(step), timedOut]);
  } finally {
    cancel();
  }
}
