/** The newest answer of a model in a run, and the stage that gave it. */
import type { StateView } from '../../../../graph/contracts/node-contract.ts';
import { asText, contextValue } from '../context/context-keys.ts';
import type { StageOutput } from '../stage/stage-outcome.ts';

export interface NewestAnswer {
  readonly stage: string;
  /** The whole answer. Of a handler that gives none, what it wrote as `last_response`. */
  readonly text: string;
}

/** Context key that names the stage whose answer `last_response` begins with. */
export const answeredKey = 'internal.answered';

/** Key in the input of a branch: the newest answer at the point where the branch began. The branch has no outputs of stages before it. */
const inheritedAnswerKey = '~answer';

/** Undefined if no stage has answered yet. */
export function newestAnswer(state: StateView): NewestAnswer | undefined {
  const inherited = (state.input as Readonly<Record<string, unknown>> | undefined)?.[inheritedAnswerKey];
  return ownAnswer(state) ?? (inherited as NewestAnswer | undefined);
}

/** The newest answer of this run itself, without what a branch inherited. */
export function ownAnswer(state: StateView): NewestAnswer | undefined {
  if (!Object.hasOwn(state.scratch, answeredKey)) return undefined;
  const stage = asText(state.scratch[answeredKey]);
  const { response } = (state.outputs[stage] ?? {}) as Partial<StageOutput>;
  return { stage, text: response ?? asText(contextValue(state, 'last_response')) };
}

export function inheritedAnswer(state: StateView): Readonly<Record<string, unknown>> {
  const answer = newestAnswer(state);
  return answer === undefined ? {} : { [inheritedAnswerKey]: answer };
}
