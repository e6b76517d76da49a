/**
 * Kinds of previews that are known to be false, each with a seed that shows it. The proof passes over these kinds and over no other;
 * each has a test that is expected to fail, and turns red when its preview has become true: then delete its line here.
 */
export interface KnownFalse {
  /** As the checker names it; a fork point that is an ancestor's makes no difference, unless it is named. */
  readonly kind: RegExp;
  readonly reason: string;
  /** A random graph that shows it. */
  readonly seed: number;
}

export const knownFalse: readonly KnownFalse[] = [
  {
    kind: /^a later visit of a node that runs is not told/u,
    reason:
      'a loop is opened again by a node that is taken over, and what it leads back to is not told for its later visits',
    seed: 8,
  },
  {
    kind: /^unknown, and done before the node that decides it/u,
    reason: 'it has no room beside a node that is tried again later, and begins in the meantime',
    seed: 92,
  },
  {
    kind: /^asks, and asked nothing/u,
    reason: 'the activation runs again, and takes the recorded answer as a step',
    seed: 214,
  },
];
