/**
 * Kinds of previews that are known to be false, each with a seed that shows it. The proof passes over these kinds and over no other;
 * each has a test that is expected to fail, and turns red when its preview has become true: then delete its line here.
 */
import { atAncestor } from './fork-generations.ts';

export interface KnownFalse {
  /** As the checker names it; a fork point that is an ancestor's makes no difference, unless it is named. */
  readonly kind: RegExp;
  readonly reason: string;
  /** A random graph that shows it. */
  readonly seed: number;
}

export const knownFalse: readonly KnownFalse[] = [
  {
    kind: new RegExp(
      `^(restored|replayed|reused|runs|runs again|asks|in doubt)(,| from).*${atAncestor.replaceAll(/[()]/gu, '\\$&')}$`,
      'u',
    ),
    reason: 'the named run is taken for the parent, where the fork takes the owner of the fork point',
    seed: 21,
  },
  {
    kind: /^runs again, and taken over$/u,
    reason: 'the first record of the place failed with applied: no, and a later one, made by a resume, completed',
    seed: 34,
  },
  {
    kind: /^a later visit of a node that runs is not told/u,
    reason: 'a loop leads back to a node that runs, and its later visits are not told unknown',
    seed: 25,
  },
  {
    kind: /^unknown, and done before the node that decides it/u,
    reason: 'of several nodes that may decide it, or make room for it, the first is named, and another ended first',
    seed: 82,
  },
  {
    kind: /^asks, and asked nothing/u,
    reason: 'the activation runs again, and takes the recorded answer as a step',
    seed: 214,
  },
  {
    kind: /^a visit is not told/u,
    reason: 'a visit over maxVisits, or one that a settled failure leads to, has no row',
    seed: 20,
  },
];
