/** What the rows of a preview come to: what would be spent again, and what is saved (Q6). */
import { addAmounts, type Amounts } from '../../graph/amounts.ts';
import type { Prediction, PreviewRow } from '../api.ts';

/** By unit. */
export interface PreviewCost {
  /** What it cost last time to do what would be done again. */
  readonly again: Amounts;
  /** What it cost to do what is taken over. */
  readonly saved: Amounts;
}

/** Sums up a preview. What is restored is spent already; what is unknown is in neither sum. */
export function previewCost(rows: readonly PreviewRow[]): PreviewCost {
  const sumOf = (...predictions: readonly Prediction[]): Amounts =>
    rows
      .filter(({ prediction }) => predictions.includes(prediction))
      .reduce<Amounts>((sum, { cost }) => addAmounts(sum, cost), {});
  return { again: sumOf('runs again'), saved: sumOf('replayed', 'reused') };
}
