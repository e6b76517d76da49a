/** Sums up the cost of a preview: what would be spent again, and what is saved (Q6). */
import { addAmounts, type Amounts } from '../../graph/amounts.ts';
import type { Prediction, PreviewRow } from '../api.ts';

/** Amounts by unit. */
export interface PreviewCost {
  /** What it cost last time to do the work that would be repeated. */
  readonly again: Amounts;
  /** What it cost to do the work that is taken over. */
  readonly saved: Amounts;
}

/** Sums up a preview. Restored rows are spent already; unknown rows are in neither sum. */
export function previewCost(rows: readonly PreviewRow[]): PreviewCost {
  const sumOf = (...predictions: readonly Prediction[]): Amounts =>
    rows
      .filter(({ prediction }) => predictions.includes(prediction))
      .reduce<Amounts>((sum, { cost }) => addAmounts(sum, cost), {});
  return { again: sumOf('runs again'), saved: sumOf('replayed', 'reused') };
}
