/** Validates the input of an http node, and makes one request from it. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';

/** A configuration with its functions called and its secrets inserted. */
export interface ResolvedHttp {
  readonly url: unknown;
  readonly query?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
  /** A value to send as JSON, texts included. Used in place of a body. */
  readonly json?: unknown;
}

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | Uint8Array | undefined;
}

/** Methods that change nothing on the server. */
export const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Makes a request. Text and bytes are sent as they are, any other body as JSON. A method that is not safe gets the header
 * `Idempotency-Key`.
 * @throws NodeFailure REQUEST_INVALID before anything is sent. The message names the option, never its value
 */
export function createHttpRequest(method: string, request: ResolvedHttp, idempotencyKey: string): HttpRequest {
  const headers = readHeaders(request.headers);
  const { body: whole, json } = request;
  const isRaw = json === undefined && (typeof whole === 'string' || whole instanceof Uint8Array || whole === undefined);
  const body = isRaw ? whole : writeJson(json === undefined ? whole : json);
  if (!isRaw && !headers.has('content-type')) headers.set('content-type', 'application/json');
  if (!safeMethods.has(method) && !headers.has('idempotency-key')) headers.set('idempotency-key', idempotencyKey);
  if (safeMethods.has(method) && body !== undefined) refuse('body', `a ${method} request has none`);
  return { method, url: readUrl(request.url, request.query), headers, body };
}

function readUrl(text: unknown, query: unknown): URL {
  const url = URL.parse(String(text)) ?? refuse('url', 'cannot be parsed');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    refuse('url', `has the scheme ${url.protocol} and must have http: or https:`);
  if (url.username !== '' || url.password !== '') refuse('url', 'holds credentials: use a header with a secret');
  for (const [name, value] of Object.entries((query ?? {}) as Record<string, unknown>)) {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (item !== undefined) url.searchParams.append(name, toText(item, `query.${name}`));
    }
  }
  return url;
}

function readHeaders(fields: unknown): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries((fields ?? {}) as Record<string, unknown>)) {
    if (value === undefined) continue;
    try {
      headers.set(name, toText(value, `headers.${name}`));
    } catch (error) {
      // The platform's message would quote the value, which may be a secret.
      if (error instanceof NodeFailure) throw error;
      refuse(`headers.${name}`, 'is no valid header');
    }
  }
  return headers;
}

function toText(value: unknown, place: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return String(value);
  return refuse(place, 'is neither text nor a number');
}

function writeJson(body: unknown): string {
  try {
    return JSON.stringify(body) ?? refuse('body', 'cannot be written as JSON');
  } catch {
    return refuse('body', 'cannot be written as JSON');
  }
}

function refuse(place: string, reason: string): never {
  throw new NodeFailure(`${place} ${reason}`, { code: 'REQUEST_INVALID', applied: 'no', data: { place } });
}
