/** Which keys name something secret, as people write them: `password`, `Api-Key`, `accessToken`, `db_password`. */

/** In lower case, without `-`, `_`, `.` and spaces. */
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

/** Names that also end longer ones: `db_password`, `githubToken`, `X-Api-Key`. */
const secretEndings: readonly string[] = ['password', 'secret', 'accesstoken', 'apikey', 'privatekey'];

/** A key as it is compared: letter case and what joins words aside. */
export function plainKey(key: string): string {
  return key.toLowerCase().replace(/[-_. ]/g, '');
}

const known = new Map<string, boolean>();

/** Whether the value under a key is not to be shown, by the key's name alone. */
export function isSecretKey(key: string): boolean {
  // Texts of any length can be keys of a value; names of secrets are short.
  if (key.length > 64) return false;
  let isSecret = known.get(key);
  if (isSecret === undefined) {
    const plain = plainKey(key);
    isSecret = secretNames.has(plain) || secretEndings.some((ending) => plain.endsWith(ending));
    // Keys repeat; a store of ids as keys must not fill the memory.
    if (known.size > 10_000) known.clear();
    known.set(key, isSecret);
  }
  return isSecret;
}
