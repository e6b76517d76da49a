/** Configuration with functions of the state in it: what is hashed of it, and how it is resolved. */
import type { StateView } from '../../graph/contracts/node-contract.ts';
import type { FromState } from './typed-context.ts';
import { mapLeaves } from './map-leaves.ts';
import { SecretReference } from '../../graph/secret-reference.ts';

/** The data of a configuration, and the text of the functions in it. */
export interface DescribedConfig<Config> {
  /** A copy of the whole, to be resolved: what its author changes afterwards is not in the hash, so it is not in the node (G1). */
  readonly config: Config;
  /** Functions stand as `(computed)`, secrets as `secret:NAME`, options not given are left out. */
  readonly data: unknown;
  /** Hashed into `codeHash`, a hint that code has changed. */
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

/** Calls every function in a configuration with the state. What they return is not searched for more. */
export function resolveComputed(config: unknown, state: StateView): unknown {
  return mapLeaves(config, (leaf) => (typeof leaf === 'function' ? (leaf as FromState<unknown>)({ state }) : leaf));
}
