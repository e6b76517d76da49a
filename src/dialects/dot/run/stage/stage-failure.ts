/** How stages fail: with an outcome of their own, for good or to be tried again, or because the run itself ends. */
import { CairnError, readableThrown, reasonOf } from '../../../../errors.ts';
import { NodeFailure, type NodeContext } from '../../../../graph/contracts/node-contract.ts';
import type { StageOutcome } from './stage-outcome.ts';

/** The outcome of a failed stage, in the data of its failure. */
const resultKey = 'result';
export const verdictCode = 'STAGE_FAILED';
export const retryCode = 'STAGE_RETRY';

/** Failures that another attempt would only meet again. */
const final: ReadonlySet<string> = new Set([
  verdictCode,
  'MODEL_REFUSED',
  'MODEL_UNKNOWN',
  'PERMISSION_DENIED',
  'INPUT_INVALID',
]);

export function isFinal(error: unknown): boolean {
  return final.has(String((error as { readonly code?: unknown } | undefined)?.code));
}

/** A failure with an outcome of the stage's own; whatever it did has come to its end. */
export function failed(result: StageOutcome, code: string): NodeFailure {
  return new NodeFailure(result.failureReason ?? `the stage said ${result.status}`, {
    code,
    applied: 'ended',
    data: { [resultKey]: result },
  });
}

/** Whether it is no business of the stage: the run ends, meets its budget, or is not what it was. */
export function isOfRun({ signal }: Pick<NodeContext, 'signal'>, error: unknown): boolean {
  return signal.aborted || CairnError.is(error, 'BUDGET_EXCEEDED', 'NODE_CALL_REFUSED', 'AGENT_DIVERGED');
}

/** Whatever a handler throws is an outcome of its stage, unless it is no business of it. */
export async function guarded(
  ctx: NodeContext,
  run: () => Promise<StageOutcome> | StageOutcome,
  allowsPartial = false,
): Promise<StageOutcome> {
  try {
    return await run();
  } catch (thrown) {
    const error = readableThrown(thrown);
    if (isOfRun(ctx, error)) throw error;
    const { code, data } = (error ?? {}) as { code?: unknown; data?: Readonly<Record<string, unknown>> };
    const message = reasonOf(error);
    const known = data?.[resultKey] as StageOutcome | undefined;
    if (code === retryCode && allowsPartial)
      return { ...known, status: 'partial_success', notes: `attempts are used up: ${message}` };
    const failureReason = code === retryCode ? `max retries exceeded: ${message}` : message;
    return { ...known, status: 'fail', failureReason };
  }
}
