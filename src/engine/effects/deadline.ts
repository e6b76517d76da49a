/** Deadlines of attempts: when one passes, the attempt is told to stop and fails (E6, O2). */
import { CairnError } from '../../errors.ts';
import type { Effort } from '../record/effort.ts';
import { isEffect } from '../run/effect.ts';
import type { RunCore } from '../run/run-core.ts';

/** What follows when the time of an attempt is over. */
export interface DeadlineCalls {
  /** The attempt is told to stop. */
  readonly onLate: (error: CairnError) => void;
  /** The attempt has failed, whatever its function still does. Comes at once; of an effect, when it has had its grace to end. */
  readonly onOver: (error: CairnError) => void;
}

/**
 * Calls back with NODE_TIMED_OUT when the attempt's time is over by the monotonic clock, so setting the wall clock does not end attempts.
 * An attempt without a timeout has no deadline, unless it is an effect: other owners wait only for a limited time. An effect that is told
 * to stop has `cancelGraceMs` to end, as a program has that ends what it began: nothing follows it while it may still act on the world.
 *
 * @param announcedUntilMs - when the attempt ends (monotonic ms), if it was announced; time since then counts
 * @returns a function that cancels the deadline; undefined if the attempt has none
 */
export function armDeadline(
  { env: { clock, limits } }: RunCore,
  effort: Effort,
  announcedUntilMs: number | undefined,
  { onLate, onOver }: DeadlineCalls,
): (() => void) | undefined {
  const isActing = isEffect(effort);
  const timeoutMs = effort.timeoutMs ?? (isActing ? limits.effectMs : undefined);
  if (timeoutMs === undefined) return undefined;
  const delayMs = announcedUntilMs === undefined ? timeoutMs : Math.max(0, announcedUntilMs - clock.monotonic());
  let cancel = clock.setTimer(delayMs, () => {
    const error = new CairnError('NODE_TIMED_OUT', { node: effort.name, timeoutMs });
    onLate(error);
    if (isActing) cancel = clock.setTimer(limits.cancelGraceMs, () => onOver(error));
    else onOver(error);
  });
  return () => cancel();
}
