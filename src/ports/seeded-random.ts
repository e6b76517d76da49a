/** Random numbers from a seed: the same seed gives the same numbers, in samples, statistics and tests that print their seed. */

/** Uniform in [0, 1). */
export type Random = () => number;

/** Mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface SeededRandom {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer in [0, below). */
  integer(below: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** One of a list that is not empty. */
  pick<T>(list: readonly T[]): T;
  /** A generator of its own for a part, so that what one part draws does not affect the others. */
  fork(): SeededRandom;
}

/** Makes a generator from an integer seed (mulberry32). */
export function createSeededRandom(seed: number): SeededRandom {
  const next = seededRandom(seed);
  const integer = (below: number): number => Math.floor(next() * below);
  return {
    next,
    integer,
    chance: (probability) => next() < probability,
    pick: (list) => list[integer(list.length)] as (typeof list)[number],
    fork: () => createSeededRandom(integer(4_294_967_296)),
  };
}
