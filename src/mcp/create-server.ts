/** One connection's server: the tools, resources and instructions over one app, whatever the transport. */
import type * as ServerSdk from '@modelcontextprotocol/server';
import type { McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { WorkContext } from '../operations/operation.ts';
import { instructions } from './instructions.ts';
import { registerResources } from './resources.ts';
import { registerTools } from './register-tools.ts';

export type Sdk = typeof ServerSdk;
export type { McpServer, ServerContext };

/** What all connections of a server share. */
export interface ServerHouse {
  readonly sdk: Sdk;
  readonly context: WorkContext;
  readonly version: string;
  /** Whether questions are put to the person behind the client, where it can show forms. */
  readonly canAskClient: boolean;
  /** Writes a line for whoever runs the server. */
  readonly tell: (line: string) => void;
  /** Says to all clients that the list of resources is another. */
  readonly announceResources: () => void;
}

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
