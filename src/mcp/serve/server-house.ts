/** What all connections of a server share: the SDK, and the app. */
import type * as ServerSdk from '@modelcontextprotocol/server';
import type { McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { WorkContext } from '../../operations/contract/operation.ts';

export type Sdk = typeof ServerSdk;
export type { McpServer, ServerContext };

/** What all connections of a server share. */
export interface ServerHouse {
  readonly sdk: Sdk;
  readonly context: WorkContext;
  readonly version: string;
  /** Whether to ask the person behind a client, if the client can show forms. */
  readonly canAskClient: boolean;
  /** Writes a line for the operator of the server. */
  readonly log: (line: string) => void;
  /** Notifies all clients that the list of resources has changed. */
  readonly announceResources: () => void;
}
