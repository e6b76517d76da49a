/** What the effects and steps of a random graph do: fail so often, take so long, and reach the oracle. */
import { NodeFailure } from '../graph/node-contract.ts';
import type { CrashProcess } from './crash-kit-process.ts';
import type { EffectPlan } from './random-graph-plan.ts';

/** Where and as what an effect is sent. */
export interface EffectCall {
  readonly place: string;
  readonly key: string;
  readonly attempt: number;
}

/** Performs one attempt of an effect; of a class that has no effect outside, it only computes. Returns a promise only if it takes time. */
export function performEffect<Output>(
  process: CrashProcess,
  plan: EffectPlan,
  call: EffectCall,
  output: Output,
): Output | Promise<Output> {
  if (plan.latencyMs === undefined) {
    failBefore(plan, call);
    applyEffect(process, plan, call, output);
    return output;
  }
  return performSlowly(process, plan, call, output, plan.latencyMs);
}

async function performSlowly<Output>(
  process: CrashProcess,
  plan: EffectPlan,
  call: EffectCall,
  output: Output,
  [beforeMs, afterMs]: readonly [number, number],
): Promise<Output> {
  await process.sleep(beforeMs);
  failBefore(plan, call);
  applyEffect(process, plan, call, output);
  await process.sleep(afterMs);
  return output;
}

/** A plan without an attempt to spare fails always, so that its end does not depend on how attempts are counted after a doubt. */
function failBefore({ failures, attempts }: EffectPlan, { attempt, place }: EffectCall): void {
  if (failures > 0 && (attempt <= failures || attempts <= failures)) {
    throw new NodeFailure(`${place} fails before its effect`, { applied: 'no', code: 'FLAKY' });
  }
}

function applyEffect(process: CrashProcess, plan: EffectPlan, { place, key }: EffectCall, output: unknown): void {
  if (plan.effect !== 'write' && plan.effect !== 'external') return;
  const promise = plan.recovery === 'idempotent' ? 'repeatable' : 'once';
  process.oracle.apply({ key, place, promise, output, ...(plan.failsAfter ? { fails: true } : {}) });
  if (plan.failsAfter) throw new NodeFailure(`${place} fails after its effect`, { code: 'BROKEN' });
}
