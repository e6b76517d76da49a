/** Which keys name a secret, in their usual spellings: `password`, `Api-Key`, `accessToken`, `db_password`. */

/** Names of secrets in lower case, without `-`, `_`, `.` and spaces. */
const secretNames: ReadonlySet<string> = new Set([
  'password',
  'passwd',
  'passphrase',
  'secret',
  'clientsecret',
  'secretkey',
  'token',
  'accesstoken',
  'refreshtoken',
  'idtoken',
  'authtoken',
  'bearertoken',
  'apikey',
  'apitoken',
  'privatekey',
  'credential',
  'credentials',
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
]);

/** Names that may also be the end of a longer key: `db_password`, `githubToken`, `X-Api-Key`. */
const secretEndings: readonly string[] = ['password', 'secret', 'accesstoken', 'apikey', 'privatekey'];

/** A key in the form for comparing: lower case, without separators. */
export function plainKey(key: string): string {
  return key.toLowerCase().replace(/[-_. ]/g, '');
}

const known = new Map<string, boolean>();

/** Whether the value under this key must not be shown, judged by the key's name alone. */
export function isSecretKey(key: string): boolean {
  // Keys of values may be of any length; names of secrets are short.
  if (key.length > 64) return false;
  let isSecret = known.get(key);
  if (isSecret === undefined) {
    const plain = plainKey(key);
    isSecret = secretNames.has(plain) || secretEndings.some((ending) => plain.endsWith(ending));
    // The cache is limited, because keys may also be ids.
    if (known.size > 10_000) known.clear();
    known.set(key, isSecret);
  }
  return isSecret;
}
