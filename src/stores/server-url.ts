/** What stores on servers have in common: how their URLs are read, and where their passwords come from. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CairnError } from '../errors.ts';

export const invalidStore = (reason: string): CairnError => new CairnError('CONFIG_INVALID', { path: 'store', reason });

/** Whether a host is this machine itself. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host);

/** What URLs of all servers say. */
export interface ServerUrl {
  readonly url: URL;
  readonly host: string;
  readonly user?: string;
  /** The password in the URL. */
  readonly password?: string;
  readonly connectTimeoutMs: number;
}

/**
 * Reads the URL of a server. It never repeats the URL in an error, because it may hold a password.
 * @param scheme - matches the beginning of such a URL, up to `://`
 * @param form - what the error says if it is no such URL
 * @throws CONFIG_INVALID
 */
export function readServerUrl(text: string, scheme: RegExp, form: string, parameters: readonly string[]): ServerUrl {
  if (!scheme.test(text) || !URL.canParse(text)) throw invalidStore(form);
  const url = new URL(text);
  const unknown = [...url.searchParams.keys()].find((key) => !parameters.includes(key));
  if (unknown !== undefined)
    throw invalidStore(`the URL has a parameter ${JSON.stringify(unknown)}; known ones are ${parameters.join(', ')}`);
  const seconds = Number(url.searchParams.get('connect_timeout') ?? 5);
  if (!(seconds > 0 && seconds <= 600)) throw invalidStore('connect_timeout is a number of seconds, at most 600');
  return {
    url,
    // Addresses of IPv6 stand in brackets.
    host: decodePart(url.hostname).replace(/^\[(.*)\]$/, '$1') || 'localhost',
    ...(url.username === '' ? {} : { user: decodePart(url.username) }),
    ...(url.password === '' ? {} : { password: decodePart(url.password) }),
    connectTimeoutMs: seconds * 1000,
  };
}

/** Decodes a part of a URL. @throws CONFIG_INVALID a `%` in it begins no letter */
export function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidStore('the URL has a % that begins no letter; the sign itself is written %25');
  }
}

/** Where a password comes from, as plain data. Both absent: there is none. */
export interface PlainPassword {
  readonly text?: string;
  /** A file that holds it. */
  readonly file?: string;
}

const plainPasswords = new WeakMap<() => string | undefined, PlainPassword>();

/** The password of a URL, or of {@link passwordFrom}, as plain data. Undefined: only a function of the program knows it. */
export function plainPassword(
  { password: text }: { readonly password?: string },
  password: (() => string | undefined) | undefined,
): PlainPassword | undefined {
  if (text !== undefined) return { text };
  return password === undefined ? {} : plainPasswords.get(password);
}

/** Why a store does not give its password to another thread. */
export const secretPassword = 'its password comes from a function of the program';

/** Reads a password from CAIRN_STORE_PASSWORD, or from the file that CAIRN_STORE_PASSWORD_FILE names, without its line end. */
export function passwordFrom(environment: Readonly<Record<string, string | undefined>>): () => string | undefined {
  const { CAIRN_STORE_PASSWORD: given, CAIRN_STORE_PASSWORD_FILE: named = '' } = environment;
  const read = (): string | undefined => {
    const { CAIRN_STORE_PASSWORD: password, CAIRN_STORE_PASSWORD_FILE: file } = environment;
    if (password !== undefined || file === undefined || file === '') return password;
    try {
      return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      const reason = `the file cannot be read: ${(error as Error).message}`;
      throw new CairnError('CONFIG_INVALID', { path: 'CAIRN_STORE_PASSWORD_FILE', reason }, { cause: error });
    }
  };
  plainPasswords.set(read, given !== undefined ? { text: given } : named === '' ? {} : { file: resolve(named) });
  return read;
}
