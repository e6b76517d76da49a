/** Conditions and choices written as functions of the state. */
import { functionChoice, functionCondition } from '../../graph/condition.ts';
import type { Choice, Condition, ConditionScope } from '../../graph/graph.ts';
import type { Faults } from './faults.ts';
import type { SettledOutcome } from './typed-state.ts';

/** What a condition or a choice receives: the state, and how the edge's source node settled. */
export interface TypedScope<State> {
  readonly state: State;
  readonly outcome: SettledOutcome;
}

/** A pure function of the scope, or a ready-made condition, which can carry a version. */
export type Predicate<State> = Condition | ((scope: TypedScope<State>) => boolean);

/** A pure function that returns the label of one target, or of several. */
export type Choose<State, Label extends string> = (scope: TypedScope<State>) => Label | readonly Label[];

/**
 * Makes a condition from a predicate; reports a fault if it is neither a function nor a condition. In the graph's hash the function is
 * represented by its name, not its source, so reformatting the code does not change the graph (G1).
 */
export function asCondition<State>(
  predicate: Predicate<State>,
  fallbackName: string,
  faults: Faults,
  place: string | undefined,
): Condition {
  if (typeof predicate !== 'function') {
    if (typeof predicate?.evaluate === 'function') return predicate;
    const message = `the condition of ${fallbackName} is neither a function nor a condition`;
    faults.add({ rule: 'G6', place, message, fix: 'write it as ({ state, outcome }) => ...' });
    return { text: fallbackName, evaluate: () => false };
  }
  const isUnnamed = predicate.name === '' || predicate.name === 'when';
  return functionCondition(predicate as (scope: ConditionScope) => boolean, {
    text: isUnnamed ? fallbackName : predicate.name,
  });
}

/** @param name - what the choice is called in the graph's hash and in messages */
export function asChoice<State>(choose: Choose<State, string>, name: string, version: string | undefined): Choice {
  return functionChoice(choose as (scope: ConditionScope) => string | readonly string[], {
    text: name,
    ...(version === undefined ? {} : { version }),
  });
}
