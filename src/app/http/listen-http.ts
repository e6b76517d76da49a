/** An HTTP server with time limits, so that clients cannot hold its sockets without using them. Used by every HTTP interface. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CairnError } from '../../errors.ts';

export interface ListenOptions {
  readonly host: string;
  /** Port; 0 picks a free one. */
  readonly port: number;
  /**
   * A request that is not complete after this many milliseconds is refused with 408, and its socket is closed. Responses may take any time.
   */
  readonly requestMs: number;
  /** Answers a request. If it throws or rejects, the answer is 500, and the server goes on. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;
  /** Called with what `handle` threw. */
  readonly failed: (error: unknown, request: IncomingMessage) => void;
}

export interface Listener {
  readonly port: number;
  /** Closes all connections after `before` has ended the work it can. */
  close(before: () => Promise<unknown>): Promise<void>;
}

/** After this much silence, the system checks whether the other end still exists, and closes the socket if not. */
const aliveAfterMs = 30_000;
const checkMsMax = 5_000;

/** Calls the handler; whatever it throws, the client gets an end. */
async function answer(
  { handle, failed }: Pick<ListenOptions, 'handle' | 'failed'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await handle(request, response);
  } catch (error) {
    failed(error, request);
    if (response.headersSent) response.destroy();
    else response.writeHead(500, { 'content-type': 'text/plain', connection: 'close' }).end('internal error\n');
  }
}

/** Starts the server. @throws CONFIG_INVALID the address cannot be listened on */
export async function listenHttp(options: ListenOptions): Promise<Listener> {
  const { host, port, requestMs } = options;
  const server = createServer(
    {
      keepAlive: true,
      keepAliveInitialDelay: aliveAfterMs,
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(requestMs, checkMsMax),
    },
    (request, response) => void answer(options, request, response),
  );
  // Without a listener, CONNECT gets no answer at all.
  server.on('connect', (_, socket) => {
    socket.on('error', () => undefined).end('HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  }).catch((error: unknown) => {
    const reason = `cannot listen on ${host}:${port}: ${(error as Error).message}`;
    throw new CairnError('CONFIG_INVALID', { path: '--http', reason }, { cause: error });
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close(before) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await before();
      server.closeAllConnections();
      await closed;
    },
  };
}
