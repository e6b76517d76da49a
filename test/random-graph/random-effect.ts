/** What the effects and steps of a random graph do: fail so often, take so long, and reach the oracle. */
import { NodeFailure } from '../../src/graph/contracts/node-contract.ts';
import type { CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import type { EffectPlan } from './plan-random-graph.ts';

/** Where and as what an effect is sent. */
export interface EffectCall {
  readonly place: string;
  readonly key: string;
  readonly attempt: number;
}

/** How long an attempt may take that is to time out. */
export const hangTimeoutMs = 60;

/** Performs one attempt of an effect; of a class that has no effect outside, it only computes. Returns a promise only if it takes time. */
export function performEffect<Output>(
  process: CrashProcess,
  plan: EffectPlan,
  call: EffectCall,
  output: Output,
): Output | Promise<Output> {
  if (plan.latencyMs !== undefined || plan.hangs) return performSlowly(process, plan, call, output);
  if (failsBefore(plan, call)) throw failureBefore(call);
  applyEffect(process, plan, call, output);
  if (plan.failsAfter) throw failureAfter(call);
  return output;
}

async function performSlowly<Output>(
  process: CrashProcess,
  plan: EffectPlan,
  call: EffectCall,
  output: Output,
): Promise<Output> {
  const [beforeMs, afterMs] = plan.latencyMs ?? [0, 0];
  await process.sleep(beforeMs);
  if (failsBefore(plan, call)) return fail(process, plan, failureBefore(call));
  applyEffect(process, plan, call, output);
  await process.sleep(afterMs);
  if (plan.failsAfter) return fail(process, plan, failureAfter(call));
  return output;
}

async function fail(process: CrashProcess, { hangs }: EffectPlan, failure: Error): Promise<never> {
  // Longer than any timeout of a test: whoever waits for it has given it up by then.
  if (hangs) await process.sleep(1_000_000);
  throw failure;
}

/**
 * A plan without an attempt to spare fails always, so that its end does not depend on how attempts are counted after a doubt; unless a resume
 * may help. So does an effect that hangs first: a timeout is its last attempt, but after a crash a person may let it run again.
 */
export function failsBefore(
  { effect, failures, attempts, recovers, hangs }: EffectPlan,
  { attempt }: Pick<EffectCall, 'attempt'>,
): boolean {
  const hasSpare = attempts > failures && !(hangs && (effect === 'write' || effect === 'external'));
  return failures > 0 && (attempt <= failures || (!hasSpare && !recovers));
}

function failureBefore({ place }: EffectCall): Error {
  return new NodeFailure(`${place} fails before its effect`, { applied: 'no', code: 'FLAKY' });
}

function failureAfter({ place }: EffectCall): Error {
  return new NodeFailure(`${place} fails after its effect`, { code: 'BROKEN' });
}

function applyEffect(process: CrashProcess, plan: EffectPlan, { place, key }: EffectCall, output: unknown): void {
  if (plan.effect !== 'write' && plan.effect !== 'external') return;
  const promise = plan.recovery === 'idempotent' ? 'repeatable' : 'once';
  process.oracle.apply({ key, place, promise, output, ...(plan.failsAfter ? { fails: true } : {}) });
}
