/** Deadlines of attempts: when one passes, the attempt is told to stop and fails (E6, O2). */
import { CairnError } from '../../errors.ts';
import type { Effort } from '../record/effort.ts';
import { isEffect } from '../run/effect.ts';
import type { RunCore } from '../run/run-core.ts';

/**
 * Calls back with NODE_TIMED_OUT when the attempt's time is over by the monotonic clock, so setting the wall clock does not end attempts.
 * An attempt without a timeout has no deadline, unless it is an effect: other owners wait only for a limited time.
 *
 * @param announcedUntilMs - when the attempt ends (monotonic ms), if it was announced; time since then counts
 * @returns a function that cancels the deadline; undefined if the attempt has none
 */
export function armDeadline(
  { env }: RunCore,
  effort: Effort,
  announcedUntilMs: number | undefined,
  onLate: (error: CairnError) => void,
): (() => void) | undefined {
  const timeoutMs = effort.timeoutMs ?? (isEffect(effort) ? env.limits.effectMs : undefined);
  if (timeoutMs === undefined) return undefined;
  const delayMs = announcedUntilMs === undefined ? timeoutMs : Math.max(0, announcedUntilMs - env.clock.monotonic());
  return env.clock.setTimer(delayMs, () => onLate(new CairnError('NODE_TIMED_OUT', { node: effort.name, timeoutMs })));
}
