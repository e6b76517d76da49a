/** Decides who may talk to an HTTP server of this process, before the body of a request is read. Used by every HTTP interface. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CairnError } from '../../errors.ts';

export interface GuardOptions {
  /** The address to listen on. Any address except this machine's own requires a token. */
  readonly host: string;
  /** Token that every request must send as `Authorization: Bearer …`. Undefined: no token is required. */
  readonly token: string | undefined;
  /** Further host names of the server, for example behind a proxy. */
  readonly hosts: readonly string[];
}

export interface HttpRefusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns why a request is refused; undefined if it is allowed. */
export type HttpGuard = (request: IncomingMessage) => HttpRefusal | undefined;

const ownHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
/** Addresses that mean all of the machine's addresses. By which host name clients call the server is then not known. */
const wildcards: readonly string[] = ['0.0.0.0', '[::]'];

/** An address in the form of a Host header. */
export function hostName(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** The host name in an address, without port; undefined if it is invalid. */
function nameIn(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Compares a token in constant time, whatever its length. */
function isToken(header: string | undefined, expected: Buffer): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(given), expected);
}

/**
 * Makes a guard. It refuses with 403 requests to an unknown host name and requests from pages of other origins (DNS rebinding), and with
 * 401 those without the token.
 * @throws CONFIG_INVALID others can reach the address and there is no token, or the token is empty
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
