/** Gives secrets to a node's code. The run remembers the names of the secrets that were used, never a value. */
import { CairnError, readableThrown } from '../../errors.ts';
import type { SecretReader } from '../../graph/contracts/access.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { factsOf } from '../effects/retry.ts';
import type { RunCore } from '../live-run/run-core.ts';

export function accessSecrets(core: RunCore): SecretReader {
  return {
    async get(name) {
      noteName(core, name);
      const value = await readSecret(core.env.secrets, name);
      core.secrets.learn(name, value);
      return value;
    },
    known() {
      return core.secrets.known();
    },
  };
}

/**
 * Reads a secret. An error of the source may quote the value or its own credentials, so only the kind of failure is reported. @throws
 * SECRET_MISSING, SECRET_UNAVAILABLE
 */
async function readSecret(secrets: Secrets | undefined, name: string): Promise<string> {
  let value: string | undefined;
  try {
    value = await secrets?.read(name);
  } catch (error) {
    throw new CairnError('SECRET_UNAVAILABLE', { name, reason: factsOf(readableThrown(error)).code });
  }
  if (value === undefined) throw new CairnError('SECRET_MISSING', { name });
  return value;
}

/** Records the name before the secret is read, so that a missing secret is looked up again at the next resume. */
function noteName(core: RunCore, name: string): void {
  const known = core.root.secrets ?? [];
  if (known.includes(name)) return;
  const names = [...known, name].sort();
  core.draft.set(['secrets'], names);
}

/**
 * Reads every secret that the run has used so far. So a resume fails before it starts anything if one is missing, and masks what the run
 * masked before. @throws SECRET_MISSING, SECRET_UNAVAILABLE
 */
export async function requireSecrets(
  secrets: Secrets | undefined,
  names: readonly string[] = [],
): Promise<ReadonlyMap<string, string>> {
  return new Map(await Promise.all(names.map(async (name) => [name, await readSecret(secrets, name)] as const)));
}
