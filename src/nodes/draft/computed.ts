/** Configurations that contain functions of the state: which part of them is hashed, and how they are resolved. */
import type { StateView } from '../../graph/contracts/node-contract.ts';
import type { FromState } from './typed-context.ts';
import { mapLeaves } from './map-leaves.ts';
import { SecretReference } from '../../graph/secret-reference.ts';

/** A configuration, split into data and code. */
export interface DescribedConfig<Config> {
  /**
   * A copy of the configuration, to be resolved. Changes that the author makes to the original later have no effect, as they would be
   * missing from the hash (G1).
   */
  readonly config: Config;
  /** The data. Functions are replaced by `(computed)` and secrets by `secret:NAME`; absent options are left out. */
  readonly data: unknown;
  /** Source of the functions, for `codeHash`; only a hint that code changed. */
  readonly codeText: string;
}

/** Splits a configuration into what is data and what is code (G1). */
export function describeConfig<Config>(given: Config): DescribedConfig<Config> {
  const texts: string[] = [];
  const config = mapLeaves(given, (leaf) => leaf) as Config;
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
