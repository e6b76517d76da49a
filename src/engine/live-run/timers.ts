/** Timers in this process while a run is being advanced. A timer that must survive is a row with a due time (W5). */
import type { RunCore } from './run-core.ts';

/** Starts a timer that counts as pending work, so the run does not pause. Returns a function that cancels it. */
export function holdTimer(core: RunCore, delayMs: number, callback: () => void): () => void {
  return startTimer(core, delayMs, 1, callback);
}

/** Starts a timer that does not count as work: the run may pause first, and whoever resumes it finds what is due. */
export function watchTimer(core: RunCore, delayMs: number, callback: () => void): () => void {
  return startTimer(core, delayMs, 0, callback);
}

function startTimer(core: RunCore, delayMs: number, weight: 0 | 1, callback: () => void): () => void {
  let isPending = true;
  core.agenda.keepAliveCount += weight;
  const release = (): void => {
    if (!isPending) return;
    isPending = false;
    core.agenda.keepAliveCount -= weight;
  };
  const cancel = core.env.clock.setTimer(Math.max(0, delayMs), () => {
    release();
    core.agenda.timers.delete(cancelAll);
    try {
      callback();
    } catch (error) {
      return core.loop.fail(error);
    }
    // With one timer less, the run may be able to pause.
    core.loop.requestTurn();
  });
  const cancelAll = (): void => {
    release();
    cancel();
    core.agenda.timers.delete(cancelAll);
  };
  core.agenda.timers.add(cancelAll);
  return cancelAll;
}
