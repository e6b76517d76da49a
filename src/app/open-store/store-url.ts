/** URLs of stores: how they are read, which store is meant, and what of them may be shown. Their kinds are in store-kinds.ts. */
import { join } from 'node:path';
import { CairnError } from '../../errors.ts';
import { defaultFolder, kindNamed, serverSchemes, sqlitePlace, storeForms, type StorePlace } from './store-kinds.ts';

/**
 * Parses a store URL. Undefined means the default: SQLite at `.cairn/cairn.db` in the working folder. A path without a scheme is a SQLite
 * database.
 *
 * @throws CONFIG_INVALID the scheme is unknown, the path is empty, or it is a folder
 */
export function parseStoreUrl(url: string | undefined, cwd: string): StorePlace {
  if (url === undefined) {
    const name = join(defaultFolder, 'cairn.db');
    return sqlitePlace(join(cwd, name), true, name);
  }
  const [, scheme = 'sqlite', rest = ''] = /^(?:([a-z][a-z0-9+]+):)?(.*)$/s.exec(url) ?? [];
  const kind = kindNamed(scheme);
  if (kind !== undefined) return kind.parse(rest, cwd, url);
  const forms = `${storeForms.slice(0, -1).join(', ')} or ${storeForms.at(-1)}`;
  throw new CairnError('CONFIG_INVALID', {
    path: '--store',
    reason: `stores of kind ${scheme} are not known; use ${forms}`,
  });
}

const urlWithPassword = new RegExp(`^((?:${serverSchemes.join('|')})://[^:@/]*):([^@]*)(@.*)$`, 's');

/** The password in the URL of a store on a server, which stands in no command line: other users see those, and shells record them. */
export function splitPassword(storeUrl: string): { readonly url: string; readonly password?: string } {
  const [, before = '', password, after = ''] = urlWithPassword.exec(storeUrl) ?? [];
  if (password === undefined) return { url: storeUrl };
  try {
    return { url: before + after, password: decodeURIComponent(password) };
  } catch {
    return { url: before + after, password };
  }
}

/**
 * Whether the place is the working folder's own: the default one, or what its configuration or CAIRN_STORE names. Another file, named on a
 * command line, may be anybody's: a backup that was sent, a store of an unpacked archive.
 */
export function isOwnPlace(place: StorePlace, configured: string | undefined, cwd: string): boolean {
  if (!('path' in place)) return place.kind === 'memory';
  const { CAIRN_STORE: named } = process.env;
  const own = [undefined, configured, named === '' ? undefined : named].map((url) => parseStoreUrl(url, cwd));
  return own.some((one) => one.kind === place.kind && one.path === place.path);
}

/**
 * The store that is named, else the configuration's. A configuration lies in a folder, whose author may be somebody else; so it names files
 * only, and no password of this user is sent where it says.
 *
 * @throws CONFIG_INVALID
 */
export function choosePlace(named: string | undefined, configured: string | undefined, cwd: string): StorePlace {
  const place = parseStoreUrl(named ?? configured, cwd);
  if (named !== undefined || !('url' in place)) return place;
  const reason = 'a configuration names stores of this machine only; name a server with --store or CAIRN_STORE';
  throw new CairnError('CONFIG_INVALID', { path: 'store', reason });
}
