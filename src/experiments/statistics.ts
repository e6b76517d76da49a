/** Tells chance from change: what differs between two arms over the items of a data set. */

import type { Random } from '../ports/seeded-random.ts';

/** A seed for a text. */
export function seedOf(text: string): number {
  let hash = 2_166_136_261;
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16_777_619);
  return hash >>> 0;
}

/** What is known of a difference. */
export interface Difference {
  /** Items that have it. */
  readonly items: number;
  readonly mean: number;
  /** The bounds between which the mean lies in 95 of 100 resamples of the items. */
  readonly low: number;
  readonly high: number;
  /** Items that are better, and worse. */
  readonly better: number;
  readonly worse: number;
  /** How often chance alone parts better from worse as far as this, or farther (exact McNemar). */
  readonly p: number;
}

const resamples = 2_000;

/** @param deltas - for each item the mean over its repeats, which are correlated, so that only items are drawn again */
export function differenceOf(deltas: readonly number[], random: Random): Difference {
  const items = deltas.length;
  const mean = meanOf(deltas);
  const means = Array.from({ length: items === 0 ? 0 : resamples }, () => {
    let sum = 0;
    for (let drawn = 0; drawn < items; drawn += 1) sum += deltas[Math.floor(random() * items)] ?? 0;
    return sum / items;
  }).toSorted((a, b) => a - b);
  const at = (share: number): number => means[Math.min(means.length - 1, Math.floor(share * means.length))] ?? mean;
  const better = deltas.filter((delta) => delta > 0).length;
  const worse = deltas.filter((delta) => delta < 0).length;
  return { items, mean, low: at(0.025), high: at(0.975), better, worse, p: mcnemar(better, worse) };
}

export function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The two-sided exact test: of the items that differ, each is better or worse with the same chance. */
export function mcnemar(better: number, worse: number): number {
  const all = better + worse;
  const fewer = Math.min(better, worse);
  // Logarithms, since a thousand items are more than a number can hold.
  let term = -all * Math.LN2;
  let sum = Math.exp(term);
  for (let count = 1; count <= fewer; count += 1) {
    term += Math.log(all - count + 1) - Math.log(count);
    sum += Math.exp(term);
  }
  return Math.min(1, 2 * sum);
}

/** Chances that are looked at together, each made as much larger as makes one false alarm among them all no likelier (Holm). */
export function holm(chances: readonly number[]): readonly number[] {
  const order = chances.map((_, index) => index).toSorted((a, b) => (chances[a] ?? 1) - (chances[b] ?? 1));
  const adjusted = chances.map(() => 1);
  let least = 0;
  for (const [rank, index] of order.entries()) {
    least = Math.max(least, Math.min(1, (chances[index] ?? 1) * (chances.length - rank)));
    adjusted[index] = least;
  }
  return adjusted;
}
