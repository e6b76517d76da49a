/** Prepares an outcome that was saved in the tree to be settled again. */
import { admitValue, type Admitted } from '../../state/values/codec.ts';
import type { SavedOutcome } from '../../state/tree.ts';
import type { Activation } from '../run/loop.ts';
import type { AdmittedOutcome, AdmittedUpdates } from './admit-outcome.ts';
import type { RunCore } from '../run/run-core.ts';

/** Its values were validated when they were kept, so they only have to be encoded. */
export function admitSaved(core: RunCore, activation: Activation, kept: SavedOutcome): AdmittedOutcome {
  const admit = (value: unknown, path: readonly string[]): Admitted => admitValue(value, path, core.env.limits);
  const updates: AdmittedUpdates = {};
  for (const [partition, given] of Object.entries(kept.updates ?? {})) {
    updates[partition] = Object.fromEntries(
      Object.entries(given).map(([key, value]) => [key, admit(value, [partition, key])]),
    );
  }
  return {
    ...(kept.output === undefined ? {} : { output: admit(kept.output, ['outputs', activation.node.id]) }),
    ...(kept.outputOfSteps === undefined ? {} : { outputOfSteps: kept.outputOfSteps }),
    ...(kept.updates === undefined ? {} : { updates }),
    ...(kept.goto === undefined ? {} : { goto: kept.goto }),
    ...(kept.verdict === undefined ? {} : { verdict: kept.verdict }),
  };
}
