/** What all connections of a server share: the SDK it was loaded with, and the app it serves. */
import type * as ServerSdk from '@modelcontextprotocol/server';
import type { McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { WorkContext } from '../../operations/declare/operation.ts';

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
