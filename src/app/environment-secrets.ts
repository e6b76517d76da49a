/** The secret port over the environment: `secret:NAME` is the variable NAME. */
import type { Secrets } from '../ports/secrets.ts';

/** Keys whose values are never written, whoever puts them into a value; letter case aside. */
const redactedKeys: ReadonlySet<string> = new Set([
  'password',
  'passwd',
  'secret',
  'client_secret',
  'clientsecret',
  'token',
  'access_token',
  'accesstoken',
  'refresh_token',
  'refreshtoken',
  'api_key',
  'apikey',
  'private_key',
  'privatekey',
  'authorization',
  'cookie',
  'set-cookie',
]);

export const environmentSecrets: Secrets = {
  read: (name) => process.env[name],
  redacts: (key) => redactedKeys.has(key.toLowerCase()),
};
