/** How a branch of a parallel stage ended, and what stages after it see of that. */
import type { GateOutcomes } from './gate-outcomes.ts';
import type { StageFailure, StageStatus } from './stage-outcome.ts';

/** A branch's result. What is shown of it is kept in `parallel.results`. */
export interface BranchResult extends ShownResult {
  readonly gates: GateOutcomes;
  readonly failures: readonly StageFailure[];
}

/** The part of a branch's result that later stages see. */
export interface ShownResult {
  /** The first stage of the branch. */
  readonly id: string;
  readonly outcome: StageStatus;
  readonly failure_reason?: string;
  /** The whole of the last answer that a model gave in the branch. */
  readonly response?: string;
  /** The context values that the branch's stages wrote. */
  readonly context: Readonly<Record<string, unknown>>;
}

export function shownResult({ id, outcome, failure_reason: reason, response, context }: BranchResult): ShownResult {
  return {
    id,
    outcome,
    ...(reason !== undefined && { failure_reason: reason }),
    ...(response !== undefined && { response }),
    context,
  };
}

/** Context key that says why the last parallel stage failed, for the fan-in behind it. Empty if it did not. */
export const shortfallKey = 'internal.shortfall';
