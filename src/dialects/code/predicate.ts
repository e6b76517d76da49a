/** Conditions and choices written as functions of the state. */
import type { Choice, Condition, ConditionScope } from '../../graph/graph.ts';
import type { SettledOutcome } from './typed-state.ts';

/** What a condition reads: the state, and how the node before the edge settled. */
export interface TypedScope<State> {
  readonly state: State;
  readonly outcome: SettledOutcome;
}

/** A pure function; or a condition that is made already, which can carry a version. */
export type Predicate<State> = Condition | ((scope: TypedScope<State>) => boolean);

/** Names one target, or several. */
export type Choose<State, Label extends string> = (state: State, outcome: SettledOutcome) => Label | readonly Label[];

/** A function's name stands for it in the graph's hash: its text may be formatted anew without changing the graph (G1). */
export function asCondition<State>(predicate: Predicate<State>, fallbackName: string): Condition {
  if (typeof predicate !== 'function') return predicate;
  const isUnnamed = predicate.name === '' || predicate.name === 'when';
  return {
    text: isUnnamed ? fallbackName : predicate.name,
    evaluate: (scope: ConditionScope) => predicate(scope as TypedScope<unknown> as TypedScope<State>),
  };
}

/** @param name - what the choice is called in the graph's hash and in messages */
export function asChoice<State>(choose: Choose<State, string>, name: string, version: string | undefined): Choice {
  return {
    text: name,
    ...(version === undefined ? {} : { version }),
    choose: ({ state, outcome }: ConditionScope) => choose(state as State, outcome),
  };
}
