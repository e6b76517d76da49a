/** Loads the MCP SDK, which the user has to install, when a server is started. If it is missing, the error says how to install it. */
import type * as NodeAdapter from '@modelcontextprotocol/node';
import type * as ServerSdk from '@modelcontextprotocol/server';
import type * as StdioSdk from '@modelcontextprotocol/server/stdio';
import { CairnError } from '../../errors.ts';

async function load<Module>(packageName: string, importModule: () => Promise<Module>): Promise<Module> {
  try {
    return await importModule();
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new CairnError('CONFIG_MISSING_PEER', { package: packageName }, { cause: error });
  }
}

/** Loads the SDK's server. @throws CONFIG_MISSING_PEER */
export function loadSdk(): Promise<typeof ServerSdk> {
  return load('@modelcontextprotocol/server', () => import('@modelcontextprotocol/server'));
}

/** Loads its stdio transport. @throws CONFIG_MISSING_PEER */
export function loadStdio(): Promise<typeof StdioSdk> {
  return load('@modelcontextprotocol/server', () => import('@modelcontextprotocol/server/stdio'));
}

/** Loads its adapter for Node's HTTP server. @throws CONFIG_MISSING_PEER */
export function loadNodeAdapter(): Promise<typeof NodeAdapter> {
  return load('@modelcontextprotocol/node', () => import('@modelcontextprotocol/node'));
}
