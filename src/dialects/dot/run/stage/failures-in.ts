/** What failed in a run of stages that another stage began: a branch, a child pipeline, or a run of a pipeline that restarts. */
import type { ChildResult } from '../../../../graph/contracts/node-contract.ts';
import { toldByFailure } from './gate-outcomes.ts';
import type { StageFailure } from './stage-outcome.ts';

/** Its failures in order, however it ended. The last may be that of the stage at which it failed, from which it did not go on. */
export function failuresIn({ status, state, error }: ChildResult): readonly StageFailure[] {
  const inner = (state.diagnostics['failures'] ?? []) as readonly StageFailure[];
  const [stage] = Object.keys(state.failures);
  if (status !== 'failed' || stage === undefined) return inner;
  const { failures = [], isOfRun = false } = toldByFailure(state, stage);
  const own: StageFailure = { stage, reason: rootMessage(error), led_to: null };
  return [...inner, ...failures, ...(isOfRun ? [] : [own])];
}

/** The innermost cause of an error, which is the stage's own reason rather than the engine's wrapping. */
export function rootMessage(error: Error | undefined): string {
  let last = error;
  for (let depth = 0; depth < 10 && last?.cause instanceof Error; depth += 1) last = last.cause;
  return last?.message ?? 'the branch failed';
}
