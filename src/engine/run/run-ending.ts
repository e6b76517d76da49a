/** How a run stands when nothing is left to do here (G10, W4). */
import { CairnError } from '../../errors.ts';
import type { RunStatus } from '../../state/tree.ts';
import type { RunCore } from './run-core.ts';

/** The status it ends or pauses with; undefined while something is left to do. @throws INTERNAL nothing is left, and it has not ended */
export function endingOf(core: RunCore): RunStatus | undefined {
  if (core.rootFrame.plan.isDone && !core.isFailing) return 'completed';
  const isAtWork =
    core.launches.length + core.gates.length + core.gatedCount + core.wakeUps.length + core.cancelled.length > 0;
  if (core.busyCount > 0 || isAtWork) return undefined;
  if (core.isCancelling) return 'cancelled';
  if (core.isClosing) return undefined;
  if (core.isFailing) return 'failed';
  if (core.queue.length > 0 || core.timerCount > 0) return undefined;
  if (Object.keys(core.root.waits).length > 0) return 'paused';
  throw new CairnError('INTERNAL', { reason: 'nothing is ready, running or waiting, and the run has not ended' });
}
