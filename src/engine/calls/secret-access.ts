/** Secrets as a node's code gets them; the run keeps the names of those that it asked for, and never a value. */
import { CairnError } from '../../errors.ts';
import type { SecretReader } from '../../graph/contracts/context-access.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { factsOf } from '../effects/retry.ts';
import type { RunCore } from '../run/run-core.ts';

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

/** Whatever a source fails of may quote the value or its own credentials: only the kind of failure is told. @throws SECRET_MISSING, SECRET_UNAVAILABLE */
async function readSecret(secrets: Secrets | undefined, name: string): Promise<string> {
  let value: string | undefined;
  try {
    value = await secrets?.read(name);
  } catch (error) {
    throw new CairnError('SECRET_UNAVAILABLE', { name, reason: factsOf(error).code });
  }
  if (value === undefined) throw new CairnError('SECRET_MISSING', { name });
  return value;
}

/** Kept with the next checkpoint, before the secret is read: one that is missing is asked for at the next resume, too. */
function noteName(core: RunCore, name: string): void {
  const known = core.root.secrets ?? [];
  if (known.includes(name)) return;
  const names = [...known, name].sort();
  core.draft.set(['secrets'], names);
}

/** Values of every secret that a run has asked for so far: a resume fails before it begins anything, or masks what the run masked. @throws SECRET_MISSING, SECRET_UNAVAILABLE */
export async function requireSecrets(
  secrets: Secrets | undefined,
  names: readonly string[] = [],
): Promise<ReadonlyMap<string, string>> {
  return new Map(await Promise.all(names.map(async (name) => [name, await readSecret(secrets, name)] as const)));
}
