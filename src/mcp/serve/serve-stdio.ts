/** Serves one client over stdin and stdout. */
import type { Writable } from 'node:stream';
import type { McpServer, Sdk } from './server-house.ts';
import { loadStdio } from './load-sdk.ts';
import { refuseMalformed } from './refuse-malformed.ts';
import type { Serving } from './serving.ts';

/**
 * Starts serving.
 * @param createServer - called for each connection, and once for a probe
 * @param output - stream for the protocol: see takeStdout
 */
export async function serveStdio(
  sdk: Sdk,
  createServer: (era: 'legacy' | 'modern') => McpServer,
  output: Writable,
  tell: (line: string) => void,
): Promise<Serving> {
  const { serveStdio: serve, StdioServerTransport } = await loadStdio();
  const servers = new Set<McpServer>();
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const input = refuseMalformed(sdk, process.stdin, (line) => void output.write(line));
  const transport = new StdioServerTransport(input, output);
  const handle = serve(
    ({ era }) => {
      const server = createServer(era);
      servers.add(server);
      return server;
    },
    { transport, onerror: ({ message }) => tell(message) },
  );
  // Called when the client has closed one of the pipes or has sent invalid data.
  const { onclose } = transport;
  Object.assign(transport, {
    onclose: () => {
      onclose?.();
      // Stop reading, so that stdin does not keep the process alive.
      process.stdin.unpipe().pause();
      end();
    },
  });
  // Errors reach the transport through its own stream, so here the serving just ends.
  process.stdout.on('error', end);
  return {
    url: undefined,
    ended,
    announceResources() {
      for (const server of servers) if (server.isConnected()) server.sendResourceListChanged();
    },
    async close() {
      end();
      await handle.close();
    },
  };
}
