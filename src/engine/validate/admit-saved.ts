/** Prepares an outcome that was saved in the tree to be settled again. */
import { admitValue, type Admitted } from '../../state/values/admit.ts';
import type { SavedOutcome } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import type { AdmittedOutcome, AdmittedUpdates } from './admit-outcome.ts';
import type { RunCore } from '../live-run/run-core.ts';

/** Its values were validated when they were saved, so they only have to be encoded. */
export function admitSaved(core: RunCore, activation: Activation, saved: SavedOutcome): AdmittedOutcome {
  const admit = (value: unknown, path: readonly string[]): Admitted => admitValue(value, path, core.env.bounds);
  const updates: AdmittedUpdates = {};
  for (const [partition, values] of Object.entries(saved.updates ?? {})) {
    updates[partition] = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, admit(value, [partition, key])]),
    );
  }
  return {
    ...(saved.output === undefined ? {} : { output: admit(saved.output, ['outputs', activation.node.id]) }),
    ...(saved.outputOfSteps === undefined ? {} : { outputOfSteps: saved.outputOfSteps }),
    ...(saved.updates === undefined ? {} : { updates }),
    ...(saved.goto === undefined ? {} : { goto: saved.goto }),
    ...(saved.verdict === undefined ? {} : { verdict: saved.verdict }),
  };
}
