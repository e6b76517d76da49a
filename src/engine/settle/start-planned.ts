/** Queues the nodes that a plan says may start, in the order in which they are to begin (E1). */
import type { GraphNode } from '../../graph/graph.ts';
import { hasFailedLast } from '../visit-records/failed-nodes.ts';
import type { PlanStep } from '../plan/plan-step.ts';
import type { QueuedStart } from '../live-run/agenda.ts';
import type { FrameRun } from '../live-run/loop.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { cancelActivation } from './cancel.ts';

/**
 * Carries out a plan's step: records new rounds, queues what may start, and cancels what is no longer needed. In a cancelled child run,
 * everything that would start is cancelled.
 */
export function startPlanned(core: RunCore, frameRun: FrameRun, { start, loops, epoch, cancel }: PlanStep): void {
  const { frame } = frameRun;
  if (epoch !== undefined) frame.setField('epoch', [], epoch, String(epoch));
  for (const { id, record } of loops) {
    if (record === undefined) frame.deleteField('loops', [id]);
    else frame.setField('loops', [id], record, JSON.stringify(record));
  }
  for (const due of start) {
    // A plan that is made from the tree lists what failed as open.
    const { id } = frameRun.graph.nodes[due.node] as GraphNode;
    if (!hasFailedLast(frame.tree, id)) core.agenda.queue.push({ frameRun, start: due });
  }
  for (const index of frameRun.isCancelled ? start.map(({ node }) => node) : cancel)
    cancelActivation(core, frameRun, index);
}

/**
 * Queues what may start in a frame that is begun or taken up. What had begun in an earlier process comes before all else, since it had a
 * place that nothing else may have now (E1.3).
 * @param mayHaveBegun - whether another process was at work on the frame, so that what is due may have begun there
 */
export function startInitial(core: RunCore, frameRun: FrameRun, mayHaveBegun = false): void {
  const { queue } = core.agenda;
  const before = queue.length;
  startPlanned(core, frameRun, frameRun.plan.initial());
  if (mayHaveBegun)
    for (const [index, queued] of queue.entries()) if (index >= before) queue[index] = { ...queued, mayHaveBegun };
  const hasBegun = ({ start }: QueuedStart): boolean =>
    frameRun.openRecordOf(frameRun.graph.nodes[start.node] as GraphNode) !== undefined;
  const own = queue.slice(before);
  const begun = own.filter(hasBegun);
  if (begun.length === 0) return;
  queue.splice(before, own.length, ...own.filter((queued) => !hasBegun(queued)));
  queue.unshift(...begun);
}
