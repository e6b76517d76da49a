/** Makes the server for one connection: its tools, resources and instructions, over any transport. */
import { instructions } from './instructions.ts';
import { registerResources } from './resources.ts';
import { registerTools } from './register-tools.ts';
import type { McpServer, ServerHouse } from './server-house.ts';

/**
 * @param era - in the `modern` protocol a server sends no requests to its client: questions are a result, and the client repeats its call
 */
export function createServer(house: ServerHouse, era: 'legacy' | 'modern'): McpServer {
  const { sdk, version } = house;
  const server = new sdk.McpServer(
    { name: 'cairn', title: 'Cairn workflows', version },
    {
      instructions,
      capabilities: { tools: {}, resources: { listChanged: true }, completions: {} },
    },
  );
  registerTools(server, house, era);
  registerResources(server, house);
  return server;
}
