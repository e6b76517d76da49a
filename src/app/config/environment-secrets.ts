/** The secret port over the environment: `secret:NAME` is the variable NAME. */
import type { Secrets } from '../../ports/secrets.ts';

export const environmentSecrets: Secrets = {
  read: (name) => process.env[name],
};
