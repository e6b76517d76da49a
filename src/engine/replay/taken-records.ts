/** Which records a fork has taken: each is taken once, and those before it no more, after a crash too (X2). */
import { pathKeyOf, stepKeyOf } from '../record/tree-path.ts';
import type { Due, Recorded, TakenRecord } from '../run/recorded-past.ts';

/** Under which key of `replayed` the end of something is noted. */
export function endKeyOf({ activation: { path }, stepKey }: Pick<Due, 'activation' | 'stepKey'>): string {
  return stepKey === undefined ? pathKeyOf(path) : stepKeyOf(path, stepKey);
}

/** Under which key an announcement is noted: by itself, as it may share its checkpoint with the outcome of the visit before. */
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
