/** The context of a node whose state's type is known. */
import type { NodeContext, StateView } from '../../graph/contracts/node-contract.ts';

/** The context of a node in a graph whose state has type `S`. */
export type TypedContext<S extends StateView = StateView> = Omit<NodeContext, 'state' | 'input'> & {
  readonly state: S;
  readonly input: S['input'];
};

/**
 * A function of the state, called when an attempt starts: `({ state }) => …`. What it reads is recorded as part of the activation's input.
 */
export type FromState<T, S extends StateView = StateView> = (scope: { readonly state: S }) => T;

/** A value, or a function of the state that returns it. */
export type Computed<T, S extends StateView = StateView> = T | FromState<T, S>;

declare const stateOf: unique symbol;

/**
 * Marks a part of a node's configuration that was made by a call of its own and reads the state, so that the call's functions know the type
 * of the graph's state. Never set.
 */
export interface OfState<S extends StateView> {
  readonly [stateOf]?: (state: S) => void;
}

/** Any value but a function. */
export type PlainValue = string | number | boolean | bigint | null | undefined | object;
