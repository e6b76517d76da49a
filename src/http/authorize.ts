/** Who calls over HTTP, and what they may do. */
import { randomBytes } from 'node:crypto';
import { isBearerOf, tokenDigest } from '../app/http/bearer.ts';
import { CairnError } from '../errors.ts';
import type { Scope } from '../operations/contract/operation.ts';

export type { Scope } from '../operations/contract/operation.ts';

/** All scopes. A person may have all of them; a program gets `answer` only where a grant names it. */
export const scopes: readonly Scope[] = ['read', 'run', 'answer', 'fork', 'admin', 'chat'];

/** Who calls, and what they may do. */
export interface Caller {
  /** The name under which what they do is recorded. */
  readonly principal: string;
  /** A program may not approve what a model wants to do, nor decide about effects in doubt. */
  readonly kind: 'person' | 'program';
  /** Whose runs they see. Default: the engine's tenant. Runs of other tenants do not exist for them. */
  readonly tenant?: string;
  readonly scopes: readonly Scope[];
  /** Their roles: a question for `role:finance` takes answers of those who have `finance`. Default none. */
  readonly roles?: readonly string[];
}

/** Says who sent a request; undefined or a response refuses it, undefined with 401. */
export type Authorize = (request: Request) => Promise<Caller | Response | undefined> | Caller | Response | undefined;

/** A token and whose it is. */
export interface BearerToken extends Caller {
  /** The token, or `sha256:` and the hex digest of it. */
  readonly token: string;
}

/** @throws CONFIG_INVALID */
function readToken({ token, principal, scopes: requested, kind, roles = [] }: BearerToken): Buffer {
  const invalid = (reason: string): CairnError => new CairnError('CONFIG_INVALID', { path: 'bearerTokens', reason });
  if (principal === '') throw invalid('a token has no principal');
  if (kind === 'program' && principal === 'person') throw invalid('a program cannot be called person');
  const unknown = requested.find((scope) => !scopes.includes(scope));
  if (unknown !== undefined) throw invalid(`${unknown} is no scope; there are ${scopes.join(', ')}`);
  if (!Array.isArray(roles) || roles.some((role) => typeof role !== 'string' || role === ''))
    throw invalid(`the roles of ${principal} are no list of names`);
  const [, hex] = /^sha256:([\da-f]{64})$/i.exec(token) ?? [];
  if (hex !== undefined) return Buffer.from(hex, 'hex');
  if (token.length < 16) throw invalid(`the token of ${principal} has fewer than 16 characters`);
  return tokenDigest(token);
}

/**
 * Knows callers by tokens, sent as `Authorization: Bearer TOKEN`. Only digests of tokens are in memory.
 * @throws CONFIG_INVALID a token is too short, or a scope is unknown
 */
export function bearerTokens(tokens: readonly BearerToken[]): Authorize {
  const known = tokens.map((token) => ({ expected: readToken(token), caller: callerOf(token) }));
  return ({ headers }) => {
    const header = headers.get('authorization');
    // All are compared, so that the time does not tell which one was nearly right.
    let found: Caller | undefined;
    for (const { expected, caller } of known) if (isBearerOf(header, expected)) found = caller;
    return found;
  };
}

function callerOf({ principal, kind, tenant, scopes: granted, roles }: BearerToken): Caller {
  return { principal, kind, scopes: granted, ...(tenant !== undefined && { tenant }), ...(roles && { roles }) };
}

/** A new token that cannot be guessed. */
export function createToken(): string {
  return `cairn_${randomBytes(24).toString('base64url')}`;
}
