/** Which keys name a secret, in their usual spellings: `password`, `Api-Key`, `accessToken`, `db_password`, `graph.token`. */

/**
 * Names of secrets in lower case, without `-`, `_`, `.` and spaces. A key names a secret if it ends with one of them: `githubToken`,
 * `X-Api-Key`, `session_cookie`. What goes on after the name speaks of a secret, and is none: `token_count`, `tokens`, `tokenizer`.
 */
const secretEndings: readonly string[] = [
  'password',
  'passwd',
  'passphrase',
  'secret',
  'secretkey',
  'secretaccesskey',
  'token',
  'apikey',
  'privatekey',
  'credential',
  'credentials',
  'authorization',
  'cookie',
];

/** Tokens that open nothing: a price or a time of a model's tokens, and a place in a list. */
const plainEndings: readonly string[] = ['pertoken', 'tofirsttoken', 'pagetoken'];

/** Keys of values may be of any length, and names of secrets are short: only the end of a key is looked at. */
const lookedAt = 64;

/** A key in the form for comparing: lower case, without separators. */
export function plainKey(key: string): string {
  return key.toLowerCase().replace(/[-_. ]/g, '');
}

const known = new Map<string, boolean>();

/** Whether the value under this key must not be shown, judged by the key's name alone. */
export function isSecretKey(key: string): boolean {
  const end = key.length > lookedAt ? key.slice(-lookedAt) : key;
  let isSecret = known.get(end);
  if (isSecret === undefined) {
    const plain = plainKey(end);
    const endsWith = (ending: string): boolean => plain.endsWith(ending);
    isSecret = secretEndings.some(endsWith) && !plainEndings.some(endsWith);
    // The cache is limited, because keys may also be ids.
    if (known.size > 10_000) known.clear();
    known.set(end, isSecret);
  }
  return isSecret;
}
