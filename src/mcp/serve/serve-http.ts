/** Serves clients over streamable HTTP at `/mcp`: old ones in sessions, new ones request by request. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createHttpGuard, hostName, type HttpRefusal } from '../../app/http/http-guard.ts';
import { listenHttp } from '../../app/http/listen-http.ts';
import type { McpServer, Sdk } from './server-house.ts';
import { createHttpSessions, type SessionLimits } from './http-sessions.ts';
import { loadNodeAdapter } from './load-sdk.ts';
import type { Serving } from './serving.ts';

export interface HttpLimits extends SessionLimits {
  /** A request that has not come whole by then is refused. */
  readonly requestMs: number;
}

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
  readonly limits?: Partial<HttpLimits>;
}

const defaultPort = 3456;
const path = '/mcp';
const defaultLimits: HttpLimits = { sessions: 100, bodyBytes: 4 * 1024 * 1024, requestMs: 30_000 };

function refuse(response: ServerResponse, { status, message, headers = {} }: HttpRefusal): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }));
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
  const guard = createHttpGuard({ host, token, hosts });
  const { toNodeHandler } = await loadNodeAdapter();
  const sessions = createHttpSessions(sdk, () => createServer('legacy'), limits);
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
  const listener = await listenHttp({
    host,
    port,
    requestMs: limits.requestMs,
    handle(request, response) {
      const refusal = guard(request) ?? notHere(request);
      if (refusal !== undefined) refuse(response, refusal);
      // The types differ in what may be undefined, not in what is there.
      else void handle(request as Parameters<typeof handle>[0], response);
    },
  });
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    url: `http://${hostName(host)}:${listener.port}${path}`,
    ended,
    announceResources() {
      for (const each of sessions.servers()) each.sendResourceListChanged();
      modern.notify.resourcesChanged();
    },
    async close() {
      end();
      await listener.close(() => Promise.all([sessions.close(), modern.close()]));
    },
  };
}

function notHere({ url = '' }: IncomingMessage): HttpRefusal | undefined {
  const { pathname } = new URL(url, 'http://localhost');
  return pathname === path ? undefined : { status: 404, message: `there is nothing here; the server is at ${path}` };
}
