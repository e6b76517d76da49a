/**
 * Records which ancestors' records a fork has taken over. Each is taken over once, and earlier ones not any more, also after a crash (X2).
 */
import { pathKeyOf, stepKeyOf } from '../record/tree-path.ts';
import type { Due, Recorded, TakenRecord } from '../run/recorded-past.ts';

/** Key in `replayed` for the end of something. */
export function endKeyOf({ activation: { path }, stepKey }: Pick<Due, 'activation' | 'stepKey'>): string {
  return stepKey === undefined ? pathKeyOf(path) : stepKeyOf(path, stepKey);
}

/**
 * Key in `replayed` for an announcement. It has its own key because it may be in the same checkpoint as the outcome of the visit before.
 */
export function intentKeyOf(due: Pick<Due, 'activation' | 'stepKey'>): string {
  return `intent ${endKeyOf(due)}`;
}

export function takenRecordOf({ run, seq, nth }: Recorded): TakenRecord {
  return nth === 0 ? [run.runId, seq] : [run.runId, seq, nth];
}

export function isTaken({ run, seq, nth }: Recorded, last: TakenRecord | undefined): boolean {
  if (run.runId !== last?.[0]) return false;
  return seq < last[1] || (seq === last[1] && nth <= (last[2] ?? 0));
}
