/** Which runs only wait for places of limits, so that they need no slot of a worker (FL5). */
import type { RunCore } from '../live-run/run-core.ts';

/** Such a run keeps its slot for so long. */
const slotHeldMs = 1_000;

/** Whether all that a run has done for a second is wait for places of limits. */
export function onlyAwaitsPlaces(core: RunCore): boolean {
  const { agenda, env } = core;
  const { placeWaits } = agenda;
  if (placeWaits.size === 0 || agenda.isDue || agenda.queue.length > 0) return false;
  const until = env.clock.monotonic() - slotHeldMs;
  for (const since of placeWaits.values()) if (since > until) return false;
  let working = 0;
  for (const { activations } of core.frames())
    for (const { isBusy, stepsInFlight } of activations.values()) if (isBusy) working += Math.max(1, stepsInFlight);
  return working <= placeWaits.size;
}
