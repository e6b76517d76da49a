/** Serves clients over streamable HTTP at `/mcp`: old ones in sessions, new ones request by request. */
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CairnError } from '../../errors.ts';
import type { McpServer, Sdk } from './server-house.ts';
import { createGuard, type HttpRefusal } from './http-guard.ts';
import { createHttpSessions, type SessionLimits } from './http-sessions.ts';
import { loadNodeAdapter } from './load-sdk.ts';
import type { Serving } from './serving.ts';

/** How the server is reached over HTTP. */
export interface HttpOptions {
  /** Default `127.0.0.1`. Any other than this machine's own needs a token. */
  readonly host?: string;
  /** Default 3456; 0: any that is free. */
  readonly port?: number;
  /** Asked of every request as `Authorization: Bearer …`. */
  readonly token?: string;
  /** Further names under which the server may be called, as behind a proxy. */
  readonly hosts?: readonly string[];
  readonly limits?: Partial<SessionLimits>;
}

const defaultPort = 3456;
const path = '/mcp';
const ownHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
/** All addresses of the machine: by which of its names it is called is then not known. */
const wildcards: readonly string[] = ['0.0.0.0', '[::]'];
const defaultLimits: SessionLimits = { sessions: 100, idleMs: 10 * 60_000, bodyBytes: 4 * 1024 * 1024 };

/** As a Host header names it. */
function hostName(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

function refuse(response: ServerResponse, { status, message, headers = {} }: HttpRefusal): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }));
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  }).catch((error: unknown) => {
    const reason = `cannot listen on ${host}:${port}: ${(error as Error).message}`;
    throw new CairnError('CONFIG_INVALID', { path: '--http', reason }, { cause: error });
  });
  return (server.address() as AddressInfo).port;
}

/** @throws CONFIG_INVALID the address cannot be listened on, or is open to others without a token; CONFIG_MISSING_PEER */
export async function serveHttp(
  sdk: Sdk,
  createServer: (era: 'legacy' | 'modern') => McpServer,
  options: HttpOptions,
  tell: (line: string) => void,
): Promise<Serving> {
  const { host = '127.0.0.1', port = defaultPort, token, hosts = [] } = options;
  const limits = { ...defaultLimits, ...options.limits };
  if (token === '' || (token === undefined && !ownHosts.includes(hostName(host))))
    throw new CairnError('CONFIG_INVALID', {
      path: '--http',
      reason: token === '' ? 'the token is empty' : `${host} can be reached by others, so a token is needed`,
    });
  const { toNodeHandler } = await loadNodeAdapter();
  const sessions = createHttpSessions(sdk, () => createServer('legacy'), limits, Date.now);
  const onerror = ({ message }: Error): void => tell(message);
  const modern = sdk.createMcpHandler(({ era }) => createServer(era), {
    legacy: 'reject',
    maxRequestBodySize: limits.bodyBytes,
    onerror,
  });
  const fetch = async (request: Request): Promise<Response> =>
    (await sdk.isLegacyRequest(request, undefined, { maxRequestBodySize: limits.bodyBytes }))
      ? sessions.fetch(request)
      : modern.fetch(request);
  const handle = toNodeHandler({ fetch }, { maxRequestBodySize: limits.bodyBytes, onerror });
  const anyHost = wildcards.includes(hostName(host)) && hosts.length === 0;
  const guard = createGuard(sdk, { hosts: [...ownHosts, hostName(host), ...hosts], anyHost, token });
  const server = createHttpServer((request: IncomingMessage, response: ServerResponse) => {
    const refusal = guard(request) ?? notHere(request);
    if (refusal !== undefined) refuse(response, refusal);
    // The types differ in what may be undefined, not in what is there.
    else void handle(request as Parameters<typeof handle>[0], response);
  });
  const listening = await listen(server, host, port);
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    url: `http://${hostName(host)}:${listening}${path}`,
    ended,
    announceResources() {
      for (const each of sessions.servers()) each.sendResourceListChanged();
      modern.notify.resourcesChanged();
    },
    async close() {
      end();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([sessions.close(), modern.close()]);
      server.closeAllConnections();
      await closed;
    },
  };
}

function notHere({ url = '' }: IncomingMessage): HttpRefusal | undefined {
  const { pathname } = new URL(url, 'http://localhost');
  return pathname === path ? undefined : { status: 404, message: `there is nothing here; the server is at ${path}` };
}
