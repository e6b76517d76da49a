/** What a person decided about an effect in doubt, as the answer says it (X3). */
import { outcome, type StateUpdates } from '../../graph/contracts/node-contract.ts';

/** A person's decision about an effect in doubt, and what it gave if it happened. */
export interface DoubtDecision {
  readonly decision: string;
  /** The output; or an outcome, where there are updates too. */
  readonly returned: unknown;
}

/** Reads an answer to an effect in doubt. Where no output is given it is null: a visit without an output would look like one that was skipped. */
export function doubtDecision(answer: unknown): DoubtDecision {
  if (typeof answer === 'object' && answer !== null) {
    const {
      decision,
      output = null,
      updates,
    } = answer as {
      readonly decision: string;
      readonly output?: unknown;
      readonly updates?: StateUpdates;
    };
    return { decision, returned: updates === undefined ? output : outcome({ ...updates, output }) };
  }
  return { decision: String(answer), returned: null };
}
