/** Serves clients over streamable HTTP at `/mcp`: older clients in sessions, newer ones with independent requests. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createHttpGuard, hostName, type HttpRefusal } from '../../app/http/http-guard.ts';
import { listenHttp } from '../../app/http/listen-http.ts';
import type { McpServer, Sdk } from './server-house.ts';
import { createHttpSessions, type SessionLimits } from './http-sessions.ts';
import { loadNodeAdapter } from './load-sdk.ts';
import type { Serving } from './serving.ts';

export interface HttpLimits extends SessionLimits {
  /** A request that is not complete after this many milliseconds is refused. */
  readonly requestMs: number;
}

/** How the server is reached over HTTP. */
export interface HttpOptions {
  /** Address to listen on. Default `127.0.0.1`. Any address except this machine's own requires a token. */
  readonly host?: string;
  /** Port. Default 3456; 0 picks a free one. */
  readonly port?: number;
  /** Token that every request must send as `Authorization: Bearer …`. */
  readonly token?: string;
  /** Further host names of the server, for example behind a proxy. */
  readonly hosts?: readonly string[];
  /** Origins of web pages that may speak to the server, such as `http://localhost:6274`. Default: none, not even local ones. */
  readonly origins?: readonly string[];
  readonly limits?: Partial<HttpLimits>;
}

export const httpOptionNames: readonly string[] = Object.keys({
  host: true,
  port: true,
  token: true,
  hosts: true,
  origins: true,
  limits: true,
} satisfies Record<keyof HttpOptions, true>);

const defaultPort = 3456;
const path = '/mcp';
const defaultLimits: HttpLimits = { sessions: 100, bodyBytes: 4 * 1024 * 1024, requestMs: 30_000 };

function refuse(response: ServerResponse, { status, message, headers = {} }: HttpRefusal): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }));
}

const methods: readonly string[] = ['GET', 'POST', 'DELETE'];

/** What is not for the server's path, or not one of its methods. */
function notServed({ url = '', method = '' }: IncomingMessage): HttpRefusal | undefined {
  const [pathname] = url.split('?', 1);
  if (pathname !== path) return { status: 404, message: `there is nothing here; the server is at ${path}` };
  if (methods.includes(method)) return undefined;
  return { status: 405, message: `${method} is not served here`, headers: { allow: methods.join(', ') } };
}

/** Tells the browser of a page that may speak to the server what it may send and read. */
function allowPage({ headers }: IncomingMessage, response: ServerResponse, page: string): void {
  const requested = headers['access-control-request-headers'];
  response.setHeader('access-control-allow-origin', page);
  response.setHeader('vary', 'origin');
  response.setHeader('access-control-expose-headers', 'mcp-session-id, www-authenticate');
  response.setHeader('access-control-allow-methods', methods.join(', '));
  if (typeof requested === 'string') response.setHeader('access-control-allow-headers', requested);
}

/**
 * Starts serving. @throws CONFIG_INVALID the address cannot be listened on, or others can reach it and there is no token;
 * CONFIG_MISSING_PEER
 */
export async function serveHttp(
  sdk: Sdk,
  createServer: (era: 'legacy' | 'modern') => McpServer,
  options: HttpOptions,
  tell: (line: string) => void,
): Promise<Serving> {
  const { host = '127.0.0.1', port = defaultPort, token, hosts = [], origins = [] } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const guard = createHttpGuard({ host, token, hosts, origins });
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
    failed: (error, { method, url }) => tell(`${method} ${JSON.stringify(url)} failed: ${String(error)}`),
    async handle(request, response) {
      const { refusal, page } = guard(request);
      if (page !== undefined) allowPage(request, response, page);
      const refused = refusal ?? (page !== undefined && request.method === 'OPTIONS' ? undefined : notServed(request));
      if (refused !== undefined) refuse(response, refused);
      else if (request.method === 'OPTIONS') response.writeHead(204).end();
      // The two types differ only in which fields may be undefined.
      else await handle(request as Parameters<typeof handle>[0], response);
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
