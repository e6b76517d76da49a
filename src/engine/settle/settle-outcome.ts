/** Settles an activation with an outcome whose large values are put into the blob store first (C5). */
import type { Activation } from '../run/frame-run.ts';
import type { AdmittedOutcome } from '../admit/admit-outcome.ts';
import { hasLargeValues, offloadOutcome } from '../admit/offload.ts';
import type { RunCore } from '../run/run-core.ts';
import { settleCompleted } from './settle.ts';
import type { SettleSource } from '../record/settle-record.ts';

/** At once, unless there is something to put; then it resolves when that has been done. */
export function settleOutcome(
  core: RunCore,
  activation: Activation,
  outcome: AdmittedOutcome,
  source: SettleSource = {},
): Promise<void> | undefined {
  if (!hasLargeValues(outcome, core.env.limits.inlineBytes)) {
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
