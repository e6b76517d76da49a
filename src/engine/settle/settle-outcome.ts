/** Settles an activation with an outcome, after its large values were put into the blob store (C5). */
import type { Activation } from '../live-run/loop.ts';
import type { AdmittedOutcome } from '../validate/admit-outcome.ts';
import { hasLargeValues, offloadOutcome } from '../validate/offload.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { settleCompleted } from './settle.ts';
import type { SettleSource } from '../visit-records/settle-record.ts';

/** Settles at once if there are no large values; otherwise returns a promise. */
export function settleOutcome(
  core: RunCore,
  activation: Activation,
  outcome: AdmittedOutcome,
  source: SettleSource = {},
): Promise<void> | undefined {
  if (!hasLargeValues(outcome, core.env.bounds.inlineBytes)) {
    settleCompleted(core, activation, outcome, source);
    return undefined;
  }
  return offloadOutcome(core, outcome).then(
    (offloaded) => {
      if (!activation.isOver) settleCompleted(core, activation, offloaded, source);
      core.loop.requestTurn();
    },
    (error: unknown) => core.loop.fail(error),
  );
}
