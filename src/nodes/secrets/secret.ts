/** References to secrets. They are resolved when an attempt starts, and their values are never written to the history. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { TextMask } from '../../state/secrecy/text-mask.ts';
import { CairnError } from '../../errors.ts';
import type { SecretReader } from '../../graph/contracts/access.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { mapLeaves } from '../draft/computed.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

// Masks secrets in failures of programs and servers, whose messages may quote them.

/** A copy of the failure with secrets masked. */
export function maskFailure({ message, applied, retryAfterMs, code, data }: NodeFailure, mask: TextMask): NodeFailure {
  return new NodeFailure(mask.text(message), {
    applied,
    code: mask.text(code),
    data: mask.all(data),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/**
 * Makes a reference to a secret, for headers of {@link httpNode} and the environment of {@link shellNode}.
 * @param options.prefix - text put before the value: `secret('TOKEN', { prefix: 'Bearer ' })`
 */
export function secret(name: string, options: { readonly prefix?: string } = {}): SecretReference {
  if (typeof name !== 'string' || name === '')
    throw new CairnError('CONFIG_INVALID', { reason: 'secret(name) needs the name of a secret' });
  refuseUnknownKeys('secret', options, ['prefix']);
  const { prefix = '' } = options;
  return new SecretReference([...(prefix === '' ? [] : [prefix]), { secret: name }]);
}

/** A configuration with its secrets inserted. The mask hides these, and all other secrets that the run knows, in what comes back. */
export interface ResolvedSecrets {
  readonly value: unknown;
  readonly mask: TextMask;
}

/** Replaces every reference in a configuration by its value. Each secret is read once. @throws SECRET_MISSING, SECRET_UNAVAILABLE */
export async function resolveSecrets(config: unknown, reader: SecretReader): Promise<ResolvedSecrets> {
  const read = async (name: string): Promise<[string, string]> => [name, await reader.get(name)];
  const values = new Map(await Promise.all(namesIn(config).map(read)));
  const value = mapLeaves(config, (leaf) =>
    leaf instanceof SecretReference ? leaf.fill((name) => values.get(name) ?? '') : leaf,
  );
  return { value, mask: new TextMask([...(reader.known?.() ?? []), ...values]) };
}

/** Whether a configuration contains a reference to a secret. */
export function hasSecret(config: unknown): boolean {
  return namesIn(config).length > 0;
}

function namesIn(config: unknown): readonly string[] {
  const names = new Set<string>();
  mapLeaves(config, (leaf) => {
    if (leaf instanceof SecretReference) for (const name of leaf.names) names.add(name);
    return leaf;
  });
  return [...names];
}
