/** Live events: what runs, is tried again or waits, between durable events. */
import type { Activation } from './frame-run.ts';
import type { LiveEvent } from '../api.ts';
import type { RunCore } from './run-core.ts';

/** A live event of an activation, after the newest checkpoint made. */
export function liveEventOf(
  core: RunCore,
  type: LiveEvent['type'],
  activation: Activation,
  detail: unknown,
): LiveEvent {
  return { type, runId: core.runId, after: core.committer.seq, node: activation.path, detail };
}

/** What runs now, for a watcher who came after it began. */
export function runningNow(core: RunCore): readonly LiveEvent[] {
  return core
    .frames()
    .flatMap(({ activations }) => [...activations.values()])
    .flatMap((activation) => {
      if (activation.heldBy !== undefined) return [liveEventOf(core, 'waiting', activation, activation.heldBy)];
      return activation.phase === 'running' ? [liveEventOf(core, 'started', activation, undefined)] : [];
    });
}
