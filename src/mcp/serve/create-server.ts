/** One connection's server: the tools, resources and instructions over one app, whatever the transport. */
import { instructions } from './instructions.ts';
import { registerResources } from './resources.ts';
import { registerTools } from './register-tools.ts';
import type { McpServer, ServerHouse } from './server-house.ts';

/** @param era - `modern` has no requests from server to client: questions are then a result, and the client calls again */
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
