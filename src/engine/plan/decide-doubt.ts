/** What becomes of an effect that began and has no result. Pure: the judge does it, and a preview prints it (X3). */

/** What is known of it, once its first owner can no longer be inside it. */
export interface DoubtView {
  /** What a person decided, if one was asked. */
  readonly decision: 'happened' | 'run again' | 'fail' | undefined;
  /** `no`: the attempt certainly had no effect. `ended`: it ended by itself and said that it failed. */
  readonly applied: 'no' | 'ended' | undefined;
  /** Its author's policy has planned another attempt. */
  readonly isRetryPlanned: boolean;
  /** The world can be asked whether it happened, and has not said yet. */
  readonly canReconcile: boolean;
  /** What the world said. */
  readonly found: 'happened' | 'did not happen' | 'unknown' | undefined;
  /** A repetition under the same key has no second effect. */
  readonly isIdempotent: boolean;
  /** What becomes of it if nothing else decides. */
  readonly onInDoubt: 'ask' | 'fail';
}

export type DoubtDecision = 'happened' | 'run' | 'fail' | 'reconcile' | 'ask';

export function decideDoubt(view: DoubtView): DoubtDecision {
  if (view.decision === 'happened') return 'happened';
  if (view.decision !== undefined) return view.decision === 'run again' ? 'run' : 'fail';
  if (view.applied === 'no' || (view.applied === 'ended' && view.isRetryPlanned)) return 'run';
  if (view.found === 'happened') return 'happened';
  if (view.found === 'did not happen') return 'run';
  if (view.canReconcile && view.found === undefined) return 'reconcile';
  return view.isIdempotent ? 'run' : view.onInDoubt;
}
