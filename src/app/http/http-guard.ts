/** Who may speak to a server of this process over HTTP: looked at before anything of a request's body is read. For every door. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CairnError } from '../../errors.ts';

export interface GuardOptions {
  /** The address that is listened on. Any other than this machine's own needs a token. */
  readonly host: string;
  /** Asked of every request as `Authorization: Bearer …`. Undefined: none is asked for. */
  readonly token: string | undefined;
  /** Further names under which the server may be called, as behind a proxy. */
  readonly hosts: readonly string[];
}

export interface HttpRefusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Tells why a request is refused; undefined: it is not. */
export type HttpGuard = (request: IncomingMessage) => HttpRefusal | undefined;

const ownHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
/** All addresses of the machine: by which of its names it is called is then not known. */
const wildcards: readonly string[] = ['0.0.0.0', '[::]'];

/** As a Host header names it. */
export function hostName(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** The name in an address, without port; undefined: it is none. */
function nameIn(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Takes the same time whatever is wrong with a token, its length included. */
function isToken(header: string | undefined, expected: Buffer): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(given), expected);
}

/**
 * Refuses requests under a name that the server does not go by, and from pages of others (DNS rebinding), with 403, and those
 * without the token with 401.
 * @throws CONFIG_INVALID the address can be reached by others and there is no token, or the token is empty
 */
export function createHttpGuard({ host, token, hosts }: GuardOptions): HttpGuard {
  const listened = hostName(host);
  if (token === '' || (token === undefined && !ownHosts.includes(listened)))
    throw new CairnError('CONFIG_INVALID', {
      path: '--http',
      reason: token === '' ? 'the token is empty' : `${host} can be reached by others, so a token is needed`,
    });
  const names = [...ownHosts, listened, ...hosts];
  const anyHost = wildcards.includes(listened) && hosts.length === 0;
  const expected = token === undefined ? undefined : digest(token);
  return ({ headers }) => {
    const called = nameIn(`http://${headers.host ?? ''}`);
    if (!anyHost && (called === undefined || !names.includes(called)))
      return { status: 403, message: `this server does not go by the name ${headers.host ?? 'that is missing'}` };
    const { origin = '' } = headers;
    if (origin !== '' && !names.includes(nameIn(origin) ?? ''))
      return { status: 403, message: `pages of ${origin} may not speak to this server` };
    if (expected === undefined || isToken(headers.authorization, expected)) return undefined;
    const challenge = { 'www-authenticate': 'Bearer realm="cairn"' };
    return { status: 401, message: 'a bearer token is needed', headers: challenge };
  };
}
