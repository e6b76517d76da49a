/** Timers in this process while a run is advanced; what must survive is a row with a due time (W5). */
import type { RunCore } from './run-core.ts';

/** Counts as pending work: a run with a held timer is not paused. Returns the cancel function. */
export function holdTimer(core: RunCore, delayMs: number, callback: () => void): () => void {
  return startTimer(core, delayMs, 1, callback);
}

/** Counts as nothing: the run may pause before, and whoever goes on with it finds what is due. */
export function watchTimer(core: RunCore, delayMs: number, callback: () => void): () => void {
  return startTimer(core, delayMs, 0, callback);
}

function startTimer(core: RunCore, delayMs: number, weight: 0 | 1, callback: () => void): () => void {
  let isPending = true;
  core.agenda.heldCount += weight;
  const release = (): void => {
    if (!isPending) return;
    isPending = false;
    core.agenda.heldCount -= weight;
  };
  const cancel = core.env.clock.setTimer(Math.max(0, delayMs), () => {
    release();
    core.agenda.timers.delete(cancelAll);
    try {
      callback();
    } catch (error) {
      return core.loop.fail(error);
    }
    // Whatever the callback found to do: with one timer less the run may be paused.
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
