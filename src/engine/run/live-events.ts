/** Live events, sent between durable ones: what is running, retried or waiting. */
import type { Activation } from './frame-run.ts';
import type { LiveEvent } from '../api.ts';
import type { RunCore } from './run-core.ts';

/** Makes a live event of an activation. It follows the newest checkpoint. */
export function liveEventOf(
  core: RunCore,
  type: LiveEvent['type'],
  activation: Activation,
  detail: unknown,
): LiveEvent {
  return { type, runId: core.runId, after: core.committer.seq, node: activation.path, detail };
}

/** What is running now, for a listener who came later. */
export function runningNow(core: RunCore): readonly LiveEvent[] {
  return core
    .frames()
    .flatMap(({ activations }) => [...activations.values()])
    .flatMap((activation) => {
      if (activation.heldBy !== undefined) return [liveEventOf(core, 'waiting', activation, activation.heldBy)];
      return activation.phase === 'running' ? [liveEventOf(core, 'started', activation, undefined)] : [];
    });
}
