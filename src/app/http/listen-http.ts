/** An HTTP server that lets nobody hold its sockets for nothing. For every door. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CairnError } from '../../errors.ts';

export interface ListenOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** A request that has not come whole by then is refused with 408, and its socket closed. Answers may take as long as they like. */
  readonly requestMs: number;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
}

export interface Listener {
  readonly port: number;
  /** Ends all connections once `before` has ended what it can by itself. */
  close(before: () => Promise<unknown>): Promise<void>;
}

/** After so long without a word, the system asks whether the other end is still there, and closes the socket if it is not. */
const aliveAfterMs = 30_000;
const checkMsMax = 5_000;

/** @throws CONFIG_INVALID the address cannot be listened on */
export async function listenHttp({ host, port, requestMs, handle }: ListenOptions): Promise<Listener> {
  const server = createServer(
    {
      keepAlive: true,
      keepAliveInitialDelay: aliveAfterMs,
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(requestMs, checkMsMax),
    },
    handle,
  );
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
