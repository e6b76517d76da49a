/**
 * Decides how a due activation starts. It is pure: the runner acts on the decision and a preview shows it, so the two cannot differ (E3,
 * X).
 */

/** What is known about a due activation. What is expensive to find out is a function, called only if it matters. */
export interface StartView<Offer> {
  /** Whether the node has reached its limit of visits and this visit has done nothing yet (other than fail for that reason). */
  readonly isOverLimit: boolean;
  /** Whether it is a write or external effect. */
  readonly isEffect: boolean;
  /** Whether the fork sets an outcome for it. */
  readonly isSupplied: boolean;
  /** What an earlier attempt of this visit recorded; undefined if it has not begun. */
  readonly earlier: {
    /** Whether an outcome was saved whose reducer or condition failed. */
    readonly hasOutcome: boolean;
    /** Whether it was announced and its end is not known. */
    readonly hasIntent: boolean;
    /** When the next attempt may start, in epoch ms. */
    readonly retryAt: number | undefined;
  };
  /** Whether the node's own condition holds. May throw. */
  readonly passesCondition: () => boolean;
  /** What a fork's ancestors recorded for it. `announced`: only whether it was begun again after the fork point. */
  readonly offer: (what: 'any' | 'announced') => Offer | undefined;
  /** Current time in epoch ms. */
  readonly now: number;
}

/** For an activation that has recorded nothing. */
export const nothingRecorded: StartView<unknown>['earlier'] = {
  hasOutcome: false,
  hasIntent: false,
  retryAt: undefined,
};

export type StartDecision<Offer> =
  /** Fail with RUN_LIMIT. */
  | { readonly kind: 'overLimit' }
  /** Skip: its own condition is false. */
  | { readonly kind: 'skip' }
  /** Use the outcome that the fork sets, whatever the activation would do or has begun. */
  | { readonly kind: 'supplied' }
  /** Settle the saved outcome again. */
  | { readonly kind: 'saved' }
  /** Take over what an ancestor recorded. */
  | { readonly kind: 'replay'; readonly offer: Offer }
  /** Judge it: it was started and may have happened. */
  | { readonly kind: 'doubt' }
  /** Start the next attempt at this time (epoch ms). */
  | { readonly kind: 'later'; readonly at: number }
  /** Start it now. */
  | { readonly kind: 'begin' };

/** @param hasBegun - whether an earlier attempt of this visit recorded anything. @throws whatever the node's condition throws */
export function decideStart<Offer>(view: StartView<Offer>, hasBegun: boolean): StartDecision<Offer> {
  if (!hasBegun) {
    if (view.isOverLimit) return { kind: 'overLimit' };
    if (!view.passesCondition()) return { kind: 'skip' };
  }
  if (view.isSupplied) return { kind: 'supplied' };
  // A resume does not get past the limit. Another graph can, and so can an outcome that a fork sets.
  if (view.isOverLimit) return { kind: 'overLimit' };
  const { hasOutcome, hasIntent, retryAt = 0 } = view.earlier;
  if (hasOutcome) return { kind: 'saved' };
  const isOpen = hasIntent && view.isEffect;
  // Work that is not an effect and has begun continues with what it recorded; its steps are taken over one by one.
  const offer = !hasBegun || view.isEffect ? view.offer(isOpen ? 'announced' : 'any') : undefined;
  if (offer !== undefined) return { kind: 'replay', offer };
  if (isOpen) return { kind: 'doubt' };
  return retryAt > view.now ? { kind: 'later', at: retryAt } : { kind: 'begin' };
}
