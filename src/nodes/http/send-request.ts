/** Sends one request, and follows redirects by a rule. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { HttpRequest } from './http-request.ts';

/**
 * What to do with redirects. `same-origin`: follow them within the origin, fail at one to another origin. `follow`: follow all, without
 * credentials to another origin. `manual`: return the redirect as the response. `error`: fail.
 */
export type RedirectRule = 'same-origin' | 'follow' | 'error' | 'manual';

export interface SendOptions {
  readonly redirect: RedirectRule;
  /** For `follow`: whether a redirect to another origin may be followed. Default: yes. */
  readonly mayFollow?: (url: URL, from: URL) => boolean;
  /** Whether to accept any certificate. */
  readonly isUnverified: boolean;
  /** Names of headers that contain secrets, in lower case. Like credentials, they are sent to the first origin only. */
  readonly secretHeaders: ReadonlySet<string>;
  /** Whether the body contains a secret. If so, it is never sent to another origin. */
  readonly isBodySecret: boolean;
  readonly signal: AbortSignal;
}

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const credentialHeaders = ['authorization', 'cookie', 'proxy-authorization'];
const redirectsMax = 10;

/** Error codes of failures that happen before a byte of the request is sent. */
const unsentReasons: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'BAD_PORT',
]);

/** Sends a request. @throws NodeFailure HTTP_CONNECTION, HTTP_REDIRECT; the signal's reason when aborted */
export async function sendRequest(first: HttpRequest, options: SendOptions): Promise<Response> {
  let request = first;
  for (let hops = 0; ; hops += 1) {
    const response = await send(request, options, hops === 0);
    const location = redirectStatuses.has(response.status) ? response.headers.get('location') : null;
    if (location === null || options.redirect === 'manual') return response;
    await response.body?.cancel();
    if (hops === redirectsMax) refuse(request, `was redirected more than ${redirectsMax} times`);
    request = redirect(request, response.status, location, options);
  }
}

async function send(request: HttpRequest, { signal, isUnverified }: SendOptions, isFirst: boolean): Promise<Response> {
  signal.throwIfAborted();
  const { url, method, headers, body } = request;
  try {
    if (isUnverified && url.protocol === 'https:') {
      const { fetchUnverified } = await import('./fetch-unverified.ts');
      return await fetchUnverified(request, signal);
    }
    return await fetch(url, { method, headers, signal, redirect: 'manual', ...(body !== undefined && { body }) });
  } catch (error) {
    signal.throwIfAborted();
    const reason = readReason(error);
    throw new NodeFailure(`${method} ${url.origin} failed (${reason})`, {
      code: 'HTTP_CONNECTION',
      applied: isFirst && unsentReasons.has(reason) ? 'no' : 'unknown',
      data: { origin: url.origin, reason },
    });
  }
}

/** The code of a connection error. The message is not used, because it may quote what was sent. */
function readReason(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const code: unknown = (cause as { code?: unknown } | undefined)?.code;
  if (typeof code === 'string') return code;
  // `fetch` refuses ports of other protocols.
  if (cause instanceof Error && cause.message === 'bad port') return 'BAD_PORT';
  const inner: unknown =
    cause instanceof AggregateError ? (cause.errors[0] as { code?: unknown } | undefined)?.code : undefined;
  return typeof inner === 'string' ? inner : 'unknown';
}

function redirect(from: HttpRequest, status: number, location: string, options: SendOptions): HttpRequest {
  const url = URL.parse(location, from.url.href) ?? refuse(from, 'was redirected to what is no URL');
  if (options.redirect === 'error') refuse(from, `was redirected to ${url.origin}`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    refuse(from, `was redirected to the scheme ${url.protocol}`);
  const isSameOrigin = url.origin === from.url.origin;
  const mayFollow = options.redirect === 'follow' && (options.mayFollow?.(url, from.url) ?? true);
  if (!isSameOrigin && !mayFollow) refuse(from, `was redirected to another origin, ${url.origin}`);
  const becomesGet = status === 303 ? from.method !== 'HEAD' : status < 303 && from.method === 'POST';
  const body = becomesGet ? undefined : from.body;
  if (!isSameOrigin && body !== undefined && options.isBodySecret)
    refuse(from, `was redirected to ${url.origin}, with a secret in its body`);
  const headers = new Headers(from.headers);
  if (!isSameOrigin) for (const name of [...credentialHeaders, ...options.secretHeaders]) headers.delete(name);
  if (becomesGet) for (const name of ['content-type', 'content-length', 'idempotency-key']) headers.delete(name);
  return { method: becomesGet ? 'GET' : from.method, url, headers, body };
}

function refuse({ method, url }: HttpRequest, reason: string): never {
  throw new NodeFailure(`${method} ${url.origin} ${reason}`, { code: 'HTTP_REDIRECT', data: { origin: url.origin } });
}
