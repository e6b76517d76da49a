/** Deadlines of attempts: when one passes, the attempt's signal is aborted, and the attempt fails (E6, O2). */
import type { Effort } from '../visit-records/intent.ts';
import { isEffect, type RunCore } from '../live-run/run-core.ts';
import { CairnError } from '../../errors.ts';

/** What follows when the time of an attempt is over. */
export interface DeadlineCalls {
  /** The time is over: the attempt's signal is to be aborted. */
  readonly onLate: (error: CairnError) => void;
  /** The attempt has failed, whatever its function still does. Comes at once; of an effect, when it has had its grace to end. */
  readonly onOver: (error: CairnError) => void;
}

/**
 * Calls back with NODE_TIMED_OUT when the attempt's time is over by the monotonic clock, so setting the wall clock does not end attempts.
 * An attempt without a timeout has no deadline, unless it is an effect: other owners wait only for a limited time. An effect whose signal
 * is aborted has `cancelGraceMs` to end, as a program has that ends what it began: nothing follows it while it may still act on the world.
 *
 * @param begunMs - when the attempt began, in monotonic ms
 * @returns a function that cancels the deadline; undefined if the attempt has none
 */
export function armDeadline(
  core: RunCore,
  effort: Effort,
  begunMs: number,
  { onLate, onOver }: DeadlineCalls,
): (() => void) | undefined {
  const { clock, bounds } = core.env;
  const timeoutMs = effort.timeoutMs ?? (isEffect(effort) ? bounds.effectMs : undefined);
  if (timeoutMs === undefined) return undefined;
  const delayMs = Math.max(0, begunMs + timeoutMs - clock.monotonic());
  let cancel = clock.setTimer(delayMs, () => {
    const error = new CairnError('NODE_TIMED_OUT', { node: effort.name, timeoutMs });
    onLate(error);
    cancel = afterGrace(core, effort, () => onOver(error));
  });
  return () => cancel();
}

/** Calls back when an attempt whose signal was aborted is over: at once; of an effect, when it has had its grace to end. */
export function afterGrace({ env: { clock, bounds } }: RunCore, effort: Effort, onOver: () => void): () => void {
  if (isEffect(effort)) return clock.setTimer(bounds.cancelGraceMs, onOver);
  onOver();
  return () => undefined;
}
