/** References to secrets: resolved when an attempt starts, never written. */
import type { SecretReader } from '../graph/node-contract.ts';
import { mapLeaves } from './map-leaves.ts';
import { createMask, type Mask } from './mask.ts';

/** A secret by name. It is a class, which no stored value can be: so data that comes from the state can never name a secret. */
export class SecretReference {
  readonly name: string;
  readonly prefix: string;
  constructor(name: string, prefix: string) {
    this.name = name;
    this.prefix = prefix;
  }

  /** What stands for the secret in hashes and messages. */
  get text(): string {
    return `${this.prefix}secret:${this.name}`;
  }
}

/**
 * Refers to a secret, for headers of {@link httpNode} and the environment of {@link shellNode}.
 * @param options.prefix - put before the value: `secret('TOKEN', { prefix: 'Bearer ' })`
 */
export function secret(name: string, options: { readonly prefix?: string } = {}): SecretReference {
  if (typeof name !== 'string' || name === '') throw new TypeError('secret(name) needs the name of a secret');
  return new SecretReference(name, options.prefix ?? '');
}

/** A configuration with its secrets in place, and the mask that takes them out of whatever comes back. */
export interface ResolvedSecrets {
  readonly value: unknown;
  readonly mask: Mask;
}

/** Replaces every reference in a configuration by its value. @throws SECRET_MISSING */
export function resolveSecrets(config: unknown, reader: SecretReader): ResolvedSecrets {
  const used = new Map<string, string>();
  const value = mapLeaves(config, (leaf) => {
    if (!(leaf instanceof SecretReference)) return leaf;
    const secretValue = reader.get(leaf.name);
    used.set(leaf.name, secretValue);
    return leaf.prefix + secretValue;
  });
  return { value, mask: createMask(used) };
}

/** Whether a reference to a secret is anywhere in a configuration. */
export function hasSecret(config: unknown): boolean {
  let isFound = false;
  mapLeaves(config, (leaf) => (isFound ||= leaf instanceof SecretReference));
  return isFound;
}
