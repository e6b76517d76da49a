/** A server process for tests: options as JSON in the first argument; with HTTP, its address is the first line on standard error. */
import { startMcpServer, type McpServerOptions } from '../../src/mcp/index.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as McpServerOptions;
const server = await startMcpServer(options);
if (server.url !== undefined) process.stderr.write(`listening at ${server.url}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void server.close());
await server.closed;
process.exit(0);
