/** Decides how a run stands when there is nothing left to do here (G10, W4). */
import { CairnError } from '../../errors.ts';
import type { RunStatus } from '../../state/tree.ts';
import type { RunCore } from './run-core.ts';

/**
 * The status with which the run ends or pauses; undefined while something is left to do. @throws INTERNAL nothing is left, but the run has
 * not ended
 */
export function endingOf(core: RunCore): RunStatus | undefined {
  const isFailing = core.root.failures !== undefined;
  if (core.rootFrame.plan.isDone && !isFailing) return 'completed';
  const { agenda, standing } = core;
  if (agenda.busyCount > 0 || agenda.isDue) return undefined;
  if (standing.isCancelling) return 'cancelled';
  if (!standing.mayFinish) return undefined;
  if (isFailing) return 'failed';
  if (agenda.queue.length > 0 || agenda.heldCount > 0) return undefined;
  if (Object.keys(core.root.waits).length > 0) return 'paused';
  throw new CairnError('INTERNAL', { reason: 'nothing is ready, running or waiting, and the run has not ended' });
}
