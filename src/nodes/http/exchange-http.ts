/** Sends one request and reads its response. Secrets are inserted before sending, and masked in what comes back. */
import { NodeFailure, type NodeContext } from '../../graph/contracts/node-contract.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { beforeEffect } from '../draft/before-effect.ts';
import { createHttpRequest, type HttpRequest, type ResolvedHttp } from './http-request.ts';
import { readBody } from './read-body.ts';
import { sendRequest, type RedirectRule, type SendOptions } from './send-request.ts';
import { maskFailure, hasSecret, resolveSecrets } from '../secrets/secret.ts';
import type { TextMask } from '../../state/secrecy/text-mask.ts';

export { safeMethods } from './http-request.ts';
export { decodeText, parseBody, saysJson, type BodyFormat } from './read-body.ts';
export type { RedirectRule } from './send-request.ts';

interface HttpExchange {
  readonly method: string;
  /** Returns the request with functions called and secrets still as references. Called when the attempt begins. */
  readonly readRequest: () => ResolvedHttp;
  readonly redirect: RedirectRule;
  /** Whether a redirect to another origin may be followed. Default: as `redirect` says. */
  readonly mayFollow?: (url: URL, from: URL) => boolean;
  /** The most bytes of the response, after decompression. Default 8 MiB. */
  readonly maxBytes?: number | undefined;
  /** Whether to accept any certificate. Default false. */
  readonly isUnverified?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  /** Headers by name in lower case, with secrets masked. Cookies that the server sets are omitted. */
  readonly headers: Readonly<Record<string, string>>;
  /** The response's bytes, with nothing masked. */
  readonly bytes: Uint8Array;
  readonly mask: TextMask;
}

/**
 * Sends a request and reads the complete response, whatever its status. After a 401 its secrets are read again, and if they have changed,
 * it is sent once more.
 * @throws NodeFailure REQUEST_INVALID (`applied: 'no'`), HTTP_CONNECTION, HTTP_REDIRECT, HTTP_TOO_LARGE; the signal's reason when aborted
 */
export async function exchangeHttp(
  ctx: Pick<NodeContext, 'secrets' | 'signal' | 'idempotencyKey'>,
  exchange: HttpExchange,
  isRenewed = false,
): Promise<HttpAnswer> {
  const { first, options, mask } = await beforeEffect(() => prepare(ctx, exchange));
  try {
    const response = await sendRequest(first, options);
    if (response.status === 401 && !isRenewed) {
      // A credential may have been replaced since it was read. If so, the request is sent once more; a 401 says that nothing was done.
      const renewed = await prepare(ctx, exchange).catch(() => undefined);
      if (renewed !== undefined && !isSameRequest(renewed.first, first)) {
        await response.body?.cancel();
        return await exchangeHttp(ctx, exchange, true);
      }
    }
    const bytes = await readBody(response, exchange.maxBytes ?? 8 * 1024 * 1024, ctx.signal);
    const headers = Object.fromEntries(
      [...response.headers].filter(([name]) => name !== 'set-cookie').map(([name, value]) => [name, mask.text(value)]),
    );
    return { status: response.status, headers, bytes, mask };
  } catch (error) {
    // Messages contain only origins and reasons, but an origin may contain a secret too.
    throw error instanceof NodeFailure ? maskFailure(error, mask) : error;
  }
}

/** The failure for a response with a bad status. Only 429 says that nothing happened (X3). */
export function failStatus({ status, headers }: HttpAnswer, nowMs: number, data: unknown): NodeFailure {
  const isBusy = status === 429 || status >= 500;
  const retryAfterMs = isBusy ? readRetryAfter(headers['retry-after'] ?? null, nowMs) : undefined;
  return new NodeFailure(`the answer was ${status}`, {
    code: isBusy ? 'HTTP_UNAVAILABLE' : 'HTTP_STATUS',
    applied: status === 429 ? 'no' : 'unknown',
    data,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function isSameRequest(one: HttpRequest, other: HttpRequest): boolean {
  const [a, b] = [one, other].map(({ url, headers, body }) => JSON.stringify([url.href, [...headers], body]));
  return a === b;
}

interface PreparedHttp {
  readonly first: HttpRequest;
  readonly options: SendOptions;
  readonly mask: TextMask;
}

async function prepare(
  ctx: Pick<NodeContext, 'secrets' | 'signal' | 'idempotencyKey'>,
  exchange: HttpExchange,
): Promise<PreparedHttp> {
  const request = exchange.readRequest();
  const { value, mask } = await resolveSecrets(request, ctx.secrets);
  const { redirect, mayFollow, isUnverified = false } = exchange;
  return {
    first: createHttpRequest(exchange.method, value as ResolvedHttp, ctx.idempotencyKey),
    options: {
      redirect,
      ...(mayFollow && { mayFollow }),
      isUnverified,
      secretHeaders: new Set(listSecretHeaders(request.headers)),
      isBodySecret: hasSecret([request.body, request.json]),
      signal: ctx.signal,
    },
    mask,
  };
}

function listSecretHeaders(headers: unknown): string[] {
  return Object.entries(headers ?? {}).flatMap(([name, value]) =>
    value instanceof SecretReference ? [name.toLowerCase()] : [],
  );
}

// Reads a `Retry-After` header: seconds, or an HTTP date (RFC 9110, 10.2.3). @param nowMs - epoch ms @returns ms to
// wait, or undefined if there is no usable header

export function readRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  // Every date contains letters. Without this check, `Date.parse` would accept nonsense such as `-5` as a year.
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
