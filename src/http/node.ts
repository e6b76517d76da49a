/** The handler for servers of node:http and Express. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

type NodeRequest = IncomingMessage & {
  /** Express: the path before a router took the place where it is mounted off. */
  readonly originalUrl?: string;
  /** Express: the body, where something has read it already. */
  readonly body?: unknown;
};

/** Turns a handler of requests into a listener for `http.createServer`, and into a middleware of Express. */
export function toNodeHandler(
  handler: (request: Request) => Promise<Response>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    const disconnected = new AbortController();
    outgoing.on('close', () => disconnected.abort());
    const request = toRequest(incoming, disconnected.signal);
    if (typeof request === 'number') outgoing.writeHead(request, { connection: 'close' }).end();
    else await send(await handler(request), outgoing);
  };
}

/** The request; or a status if it is none that can be answered. */
function toRequest(incoming: NodeRequest, signal: AbortSignal): Request | number {
  const { method = 'GET', headers, rawHeaders, originalUrl } = incoming;
  const path = originalUrl ?? incoming.url ?? '';
  const host = headers.host ?? '';
  if (!path.startsWith('/') || !/^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(host)) return 400;
  // Of two names, a proxy before this server may go by the other one.
  if (rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length > 1) return 400;
  const isEncrypted = (incoming.socket as { readonly encrypted?: boolean }).encrypted === true;
  const url = `${isEncrypted ? 'https' : 'http'}://${host}${path}`;
  if (!URL.canParse(url)) return 400;
  const fields = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const each of typeof value === 'string' ? [value] : (value ?? [])) fields.append(name, each);
  try {
    return new Request(url, { method, headers: fields, signal, ...bodyOf(incoming, method) });
  } catch {
    // TRACE, CONNECT, and words that are no method.
    return 405;
  }
}

function bodyOf(incoming: NodeRequest, method: string): RequestInit {
  if (method === 'GET' || method === 'HEAD') return {};
  if (incoming.readableEnded && incoming.body !== undefined) return { body: JSON.stringify(incoming.body) };
  return { body: Readable.toWeb(incoming), duplex: 'half' };
}

/** Sends a response no faster than the client takes it. A client that leaves ends the response's stream. */
async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  const { status, headers, body } = response;
  outgoing.writeHead(status, Object.fromEntries(headers));
  if (body === null || outgoing.req.method === 'HEAD') {
    await body?.cancel();
    outgoing.end();
    return;
  }
  const reader = body.getReader();
  outgoing.on('close', () => void reader.cancel().catch(() => undefined));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || outgoing.destroyed) break;
      if (!outgoing.write(value)) await untilDrained(outgoing);
    }
    outgoing.end();
  } catch {
    outgoing.destroy();
  }
}

function untilDrained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done).off('close', done);
      resolve();
    };
    outgoing.on('drain', done).on('close', done);
  });
}
