/**
 * Decides what to do about an effect that was started and has no result. It is pure: the judge acts on the decision, and a preview shows it
 * (X3).
 */

/** What is known about the effect, once its first owner can no longer be running it. */
export interface DoubtView {
  /** A person's decision, if there is one. */
  readonly decision: 'happened' | 'run again' | 'fail' | undefined;
  /** `no`: the attempt certainly had no effect. `ended`: it ended by itself and reported failure. */
  readonly applied: 'no' | 'ended' | undefined;
  /** Whether the retry policy has planned another attempt. */
  readonly isRetryPlanned: boolean;
  /** Whether `reconcile` exists and was not called yet. */
  readonly canReconcile: boolean;
  /** The result of `reconcile`. */
  readonly found: 'happened' | 'did not happen' | 'unknown' | undefined;
  /** Whether repeating it with the same key has no second effect. */
  readonly isIdempotent: boolean;
  /** What to do if nothing else decides. */
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
