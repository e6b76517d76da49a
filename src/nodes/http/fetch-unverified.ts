/** Sends a request without verifying the server's certificate, which `fetch` cannot do for a single request. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { HttpRequest } from './http-request.ts';

/** Statuses of responses that have no body. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/** Works like `fetch` without redirects. Rejects with an error whose `cause` has the code of the connection failure. */
export async function fetchUnverified(
  { url, method, headers, body }: HttpRequest,
  signal: AbortSignal,
): Promise<Response> {
  // Responses are not decompressed here, so ask for uncompressed ones.
  const sent = request(url, {
    method,
    headers: { ...Object.fromEntries(headers), 'accept-encoding': 'identity' },
    rejectUnauthorized: false,
    signal,
  });
  sent.end(body);
  try {
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const status = answer.statusCode ?? 0;
    const stream = bodiless.has(status) ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
    return new Response(stream, { status, headers: readHeaders(answer) });
  } catch (error) {
    throw new TypeError('the request failed', { cause: error });
  }
}

function readHeaders({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value);
  return headers;
}
