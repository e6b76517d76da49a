/** The deadline of an attempt: when it passes, the attempt is told to stop and fails (E6, O2). */
import { CairnError } from '../../errors.ts';
import type { Effort } from '../record/effort.ts';
import { isEffect } from '../run/effect.ts';
import type { RunCore } from '../run/run-core.ts';

/**
 * Calls back with NODE_TIMED_OUT when an attempt has had its time, by the monotonic clock: a clock that is put forward ends no attempt.
 * An attempt without a timeout of its own has none, unless it is an effect: another owner waits no longer than the limit.
 *
 * @param announcedUntilMs - monotonic ms at which the attempt ends, as it was announced; what came between counts. Undefined: it was not
 * @returns cancels; undefined: the attempt has no deadline
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
