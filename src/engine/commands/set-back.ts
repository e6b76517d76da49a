/** Corrects what a run waits for when the host's clock was set back, so that it does not wait for as long again (O2.7). */
import type { RunRow } from '../../ports/store.ts';
import { nextDueOf, type FrameTree } from '../../state/tree.ts';
import type { Draft } from '../live-run/draft.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';

/** Smaller differences are none: the clocks of processes are read at different moments. */
const slackMs = 1_000;

/**
 * If the newest checkpoint was made later than now, the clock has been set back since, by at least that difference. Times to come are moved
 * by it: what was to go when the checkpoint was made is still to go, so that nothing is due early, and at most its own length late.
 *
 * @returns the difference in ms; 0 if there is none
 */
export function takeBackTimes({ store, clock }: EngineEnvironment, run: RunRow, draft: Draft): number {
  const now = clock.now();
  const setBackMs = run.updatedAt - now;
  // The clock of a server is another matter: there, a difference may be that of the process that wrote.
  if (store.readTime !== undefined || setBackMs <= slackMs) return 0;
  const isLater = (at: number | undefined): at is number => at !== undefined && at > now;
  for (const [waitId, wait] of Object.entries(draft.root.waits)) {
    if (!isLater(nextDueOf(wait))) continue;
    const { dueAt, late } = wait;
    const moved = {
      ...wait,
      openedAt: (wait.openedAt ?? now) - setBackMs,
      ...(dueAt !== undefined && { dueAt: dueAt - setBackMs }),
      ...(late && { late: late.map((event) => ({ ...event, at: event.at - setBackMs })) }),
    };
    // The waits of a failed run have no rows until it is tried again.
    if (draft.root.status === 'failed') draft.set(['waits', waitId], moved);
    else draft.openWait(waitId, moved);
  }
  moveRetries(draft, ['frame'], draft.root.frame, (at) => (isLater(at) ? at - setBackMs : undefined));
  draft.note({ kind: 'resume', detail: { clockSetBackMs: Math.round(setBackMs) } });
  draft.mustCommit = true;
  return setBackMs;
}

type Move = (at: number | undefined) => number | undefined;

/** Moves the times of attempts to come, of nodes and steps, also in child runs. */
function moveRetries(draft: Draft, path: readonly string[], { nodes }: FrameTree, move: Move): void {
  for (const [id, record] of Object.entries(nodes)) {
    if (record.fired !== undefined) continue;
    const at = [...path, 'nodes', id];
    const retryAt = move(record.retryAt);
    if (retryAt !== undefined) draft.set([...at, 'retryAt'], retryAt);
    for (const [key, step] of Object.entries(record.steps ?? {})) {
      const stepRetryAt = move(step.retryAt);
      if (stepRetryAt !== undefined) draft.set([...at, 'steps', key, 'retryAt'], stepRetryAt);
    }
    for (const [key, child] of Object.entries(record.children ?? {}))
      moveRetries(draft, [...at, 'children', key], child, move);
  }
}
