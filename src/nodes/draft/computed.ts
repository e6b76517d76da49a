/** Configurations that contain functions of the state: which part of them is hashed, and how they are resolved. */
import type { NodeContext, StateView } from '../../graph/contracts/node-contract.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { SecretReference } from '../../graph/secret-reference.ts';

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

/** Copies arrays and plain objects, and maps everything else; maps keys too if there is a `mapKey`. */
export function mapLeaves(
  value: unknown,
  map: (leaf: unknown) => unknown,
  mapKey: (key: string) => string = (key) => key,
): unknown {
  if (Array.isArray(value)) return value.map((item) => mapLeaves(item, map, mapKey));
  if (!isPlainObject(value)) return map(value);
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  return Object.fromEntries(entries.map(([key, entry]) => [mapKey(key), mapLeaves(entry, map, mapKey)]));
}

/** A configuration, split into data and code. */
export interface DescribedConfig<Config> {
  /**
   * A copy of the configuration, to be resolved. Changes that the author makes to the original later have no effect, as they would be
   * missing from the hash (G1).
   */
  readonly config: Config;
  /** The data. Functions are replaced by `(computed)` and secrets by `secret:NAME`; absent options are omitted. */
  readonly data: unknown;
  /** Source of the functions, for `codeHash`; only a hint that code changed. */
  readonly codeText: string;
}

/** Splits a configuration into what is data and what is code (G1). */
export function describeConfig<Config>(options: Config): DescribedConfig<Config> {
  const texts: string[] = [];
  const config = mapLeaves(options, (leaf) => leaf) as Config;
  const data = mapLeaves(config, (leaf) => {
    if (leaf instanceof SecretReference) return leaf.text;
    if (typeof leaf !== 'function') return leaf;
    texts.push(String(leaf));
    return '(computed)';
  });
  return { config, data, codeText: texts.join('\n') };
}

/** Replaces every function in a configuration by its result for this state. Functions inside results are not called. */
export function resolveComputed(config: unknown, state: StateView): unknown {
  return mapLeaves(config, (leaf) => (typeof leaf === 'function' ? (leaf as FromState<unknown>)({ state }) : leaf));
}
