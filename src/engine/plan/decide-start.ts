/** How a due activation starts. Pure: the runner does what is decided here, and a preview prints it, so the two cannot differ (E3, X). */

/** What is known of an activation that is due; what costs something is asked for only where it decides. */
export interface StartView<Offer> {
  /** Its node has settled as often as it may, and this visit has done nothing yet, unless it failed for that already. */
  readonly isOverLimit: boolean;
  /** A write or external effect. */
  readonly isEffect: boolean;
  /** A fork was given an outcome for it. */
  readonly isSupplied: boolean;
  /** What an earlier attempt of this visit left; undefined: it has not begun. */
  readonly left: {
    /** An outcome whose reducer or condition failed. */
    readonly hasOutcome: boolean;
    /** It was announced, and nothing is known of its end. */
    readonly hasIntent: boolean;
    /** Epoch ms before which the next attempt does not start. */
    readonly retryAt: number | undefined;
  };
  /** Whether the node's own condition lets it start. May throw. */
  readonly passesCondition: () => boolean;
  /** What ancestors of a fork recorded for it. `announced`: only that it was begun again after the fork point. */
  readonly offer: (what: 'any' | 'announced') => Offer | undefined;
  /** Epoch ms. */
  readonly now: number;
}

/** What is left of an activation that has not begun. */
export const nothingLeft: StartView<unknown>['left'] = { hasOutcome: false, hasIntent: false, retryAt: undefined };

export type StartDecision<Offer> =
  /** It fails: RUN_LIMIT. */
  | { readonly kind: 'overLimit' }
  /** Its own condition turns it away. */
  | { readonly kind: 'skip' }
  /** The outcome that the fork was given stands in for whatever it would do, or has begun. */
  | { readonly kind: 'supplied' }
  /** Its kept outcome is settled again. */
  | { readonly kind: 'kept' }
  /** What an ancestor recorded is taken over. */
  | { readonly kind: 'replay'; readonly offer: Offer }
  /** It began and may have happened: it is judged. */
  | { readonly kind: 'doubt' }
  /** Its next attempt is due at this time, epoch ms. */
  | { readonly kind: 'later'; readonly at: number }
  /** It begins now. */
  | { readonly kind: 'begin' };

/** @param hasBegun - whether an earlier attempt of this visit left anything @throws what the node's condition throws */
export function decideStart<Offer>(view: StartView<Offer>, hasBegun: boolean): StartDecision<Offer> {
  if (!hasBegun) {
    if (view.isOverLimit) return { kind: 'overLimit' };
    if (!view.passesCondition()) return { kind: 'skip' };
  }
  if (view.isSupplied) return { kind: 'supplied' };
  // A resume does not lead past the limit; another graph does, or an outcome that a fork gives.
  if (view.isOverLimit) return { kind: 'overLimit' };
  const { hasOutcome, hasIntent, retryAt = 0 } = view.left;
  if (hasOutcome) return { kind: 'kept' };
  const isOpen = hasIntent && view.isEffect;
  // What is not an effect and has begun goes on with what it left: its steps are taken over one by one.
  const offer = !hasBegun || view.isEffect ? view.offer(isOpen ? 'announced' : 'any') : undefined;
  if (offer !== undefined) return { kind: 'replay', offer };
  if (isOpen) return { kind: 'doubt' };
  return retryAt > view.now ? { kind: 'later', at: retryAt } : { kind: 'begin' };
}
