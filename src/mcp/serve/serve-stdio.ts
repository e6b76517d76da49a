/** Serves one client over standard input and output. */
import type { Writable } from 'node:stream';
import type { McpServer, Sdk } from './server-house.ts';
import { loadStdio } from './load-sdk.ts';
import { refuseMalformed } from './refuse-malformed.ts';
import type { Serving } from './serving.ts';

/**
 * @param createServer - called once per connection, and once for a probe
 * @param output - where the protocol goes: see takeStdout
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
  // It closes when the client has closed one of the pipes, or has sent what is no longer a protocol.
  const { onclose } = transport;
  Object.assign(transport, {
    onclose: () => {
      onclose?.();
      // What is no longer read keeps no process.
      process.stdin.unpipe().pause();
      end();
    },
  });
  // The error is known by then: the transport has it from its own stream.
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
