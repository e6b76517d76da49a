/** References to secrets: resolved when an attempt starts, never written. */
import { CairnError } from '../../errors.ts';
import type { SecretReader } from '../../graph/node-contract.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { mapLeaves } from '../draft/map-leaves.ts';
import { createMask, type Mask } from './mask.ts';

/**
 * Refers to a secret, for headers of {@link httpNode} and the environment of {@link shellNode}.
 * @param options.prefix - put before the value: `secret('TOKEN', { prefix: 'Bearer ' })`
 */
export function secret(name: string, options: { readonly prefix?: string } = {}): SecretReference {
  if (typeof name !== 'string' || name === '')
    throw new CairnError('CONFIG_INVALID', { reason: 'secret(name) needs the name of a secret' });
  const { prefix = '' } = options;
  return new SecretReference([...(prefix === '' ? [] : [prefix]), { secret: name }]);
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
    return leaf.fill((name) => {
      const secretValue = reader.get(name);
      used.set(name, secretValue);
      return secretValue;
    });
  });
  return { value, mask: createMask(used) };
}

/** Whether a reference to a secret is anywhere in a configuration. */
export function hasSecret(config: unknown): boolean {
  let isFound = false;
  mapLeaves(config, (leaf) => (isFound ||= leaf instanceof SecretReference));
  return isFound;
}
