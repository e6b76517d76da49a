/** Who may speak to the server over HTTP: looked at before anything of a request's body is read. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Sdk } from './server-house.ts';

export interface GuardOptions {
  /** Names that the server goes by, without ports; others in a Host or Origin header are refused (DNS rebinding). */
  readonly hosts: readonly string[];
  /** Under what name it is called is not known: any will do, since the token is asked for. */
  readonly anyHost: boolean;
  /** Undefined: none is asked for. */
  readonly token: string | undefined;
}

export interface HttpRefusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Takes the same time whatever is wrong with a token, its length included. */
function isToken(header: string | undefined, expected: Buffer): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(given), expected);
}

/** @returns tells why a request is refused; undefined: it is not */
export function createGuard(
  { validateHostHeader, validateOriginHeader }: Sdk,
  { hosts, anyHost, token }: GuardOptions,
): (request: IncomingMessage) => HttpRefusal | undefined {
  const expected = token === undefined ? undefined : digest(token);
  return ({ headers }) => {
    const host = validateHostHeader(headers.host, [...hosts]);
    if (!host.ok && !anyHost) return { status: 403, message: host.message };
    const origin = validateOriginHeader(headers.origin, [...hosts]);
    if (!origin.ok) return { status: 403, message: origin.message };
    if (expected === undefined || isToken(headers.authorization, expected)) return undefined;
    const challenge = { 'www-authenticate': 'Bearer realm="cairn"' };
    return { status: 401, message: 'a bearer token is needed', headers: challenge };
  };
}
