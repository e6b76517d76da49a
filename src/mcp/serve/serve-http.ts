/** Serves clients over streamable HTTP at `/mcp`: older clients in sessions, newer ones with independent requests. */
import { randomUUID } from 'node:crypto';
import type * as ServerSdk from '@modelcontextprotocol/server';
import type { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { McpServer, Sdk } from './server-house.ts';
import type * as NodeAdapter from '@modelcontextprotocol/node';
import type * as StdioSdk from '@modelcontextprotocol/server/stdio';
import { importPeer } from '../../optional-peers.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isProbe, type ProbeAnswer, type Probes } from '../../app/http/probes.ts';
import { metricsType, type ProcessMetrics } from '../../app/metrics/metrics.ts';
import { createHttpGuard, hostName, type HttpRefusal } from '../../app/http/http-guard.ts';
import { listenHttp } from '../../app/http/listen-http.ts';

// Sessions of clients that begin with `initialize`. Their number is limited; a new session replaces the one that was idle longest.

export interface SessionLimits {
  /** The most sessions at the same time. */
  readonly sessions: number;
  readonly bodyBytes: number;
}

interface Session {
  readonly server: McpServer;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Number of requests in progress. */
  busy: number;
}

export interface HttpSessions {
  fetch(request: Request): Promise<Response>;
  readonly servers: () => Iterable<McpServer>;
  close(): Promise<void>;
}

function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}

/** The response unchanged; `leave` is called once its body has been read. */
function leaveAtEnd(response: Response, leave: () => void): Response {
  const { body, status, headers } = response;
  if (body === null) leave();
  return body === null
    ? response
    : new Response(body.pipeThrough(new TransformStream({ flush: leave })), { status, headers });
}

/** Closes the session that was idle longest, because few clients close their sessions. */
function closeIdlest(sessions: Map<string, Session>): void {
  for (const [id, { busy, server }] of sessions) {
    if (busy > 0) continue;
    sessions.delete(id);
    server.close().catch(() => undefined);
    return;
  }
}

function createHttpSessions(sdk: Sdk, createServer: () => McpServer, limits: SessionLimits): HttpSessions {
  /** In the order in which they were last used. */
  const sessions = new Map<string, Session>();

  /** Number of sessions being opened; they count too. */
  let opening = 0;

  async function open(request: Request): Promise<Response> {
    const atWork = [...sessions.values()].filter(({ busy }) => busy > 0).length;
    if (atWork + opening >= limits.sessions)
      return refuse(503, -32_000, `all ${limits.sessions} sessions are at work; try again when one of them is idle`);
    const server = createServer();
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized(id) {
        if (sessions.size >= limits.sessions) closeIdlest(sessions);
        sessions.set(id, session);
      },
      onsessionclosed: (id) => void sessions.delete(id),
      maxRequestBodySize: limits.bodyBytes,
    });
    const session: Session = { server, transport, busy: 0 };
    opening += 1;
    try {
      await server.connect(transport);
      const response = await answer(session, request);
      // The request did not open a session after all.
      if (transport.sessionId === undefined) await server.close();
      return response;
    } finally {
      opening -= 1;
    }
  }

  /** A session is busy until its response is complete. A response may be a stream that lasts as long as a run. */
  async function answer(session: Session, request: Request): Promise<Response> {
    // A stream that only listens for notifications does not count.
    if (request.method === 'GET') return session.transport.handleRequest(request);
    session.busy += 1;
    let isOver = false;
    const leave = (): void => {
      if (isOver) return;
      isOver = true;
      session.busy -= 1;
      const id = session.transport.sessionId ?? '';
      if (sessions.delete(id)) sessions.set(id, session);
    };
    request.signal.addEventListener('abort', leave, { once: true });
    try {
      return leaveAtEnd(await session.transport.handleRequest(request), leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  return {
    async fetch(request) {
      const id = request.headers.get('mcp-session-id');
      if (id === null) return open(request);
      const session = sessions.get(id);
      return session === undefined ? refuse(404, -32_001, 'Session not found') : answer(session, request);
    },
    servers: () => [...sessions.values()].map(({ server }) => server),
    async close() {
      const open = [...sessions.values()];
      sessions.clear();
      await Promise.all(open.map(({ server }) => server.close()));
    },
  };
}

/** Loads the SDK's server. @throws CONFIG_MISSING_PEER */
export function loadSdk(): Promise<typeof ServerSdk> {
  return importPeer('@modelcontextprotocol/server');
}

/** Loads its stdio transport. @throws CONFIG_MISSING_PEER */
export function loadStdio(): Promise<typeof StdioSdk> {
  return importPeer('@modelcontextprotocol/server/stdio');
}

/** Loads its adapter for Node's HTTP server. @throws CONFIG_MISSING_PEER */
function loadNodeAdapter(): Promise<typeof NodeAdapter> {
  return importPeer('@modelcontextprotocol/node');
}

/** A running transport. */
export interface Serving {
  /** URL for clients; undefined for stdin and stdout. */
  readonly url: string | undefined;
  /** Resolves when the transport has ended: its only client is gone, or it was closed. */
  readonly ended: Promise<void>;
  /** Notifies all clients that the list of resources has changed. */
  announceResources(): void;
  close(): Promise<void>;
}

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

function refuseRequest(response: ServerResponse, { status, message, headers = {} }: HttpRefusal): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }));
}

const methods: readonly string[] = ['GET', 'POST', 'DELETE'];

/** What is not for the server's path, or not one of its methods. */
function refusalOf({ url = '', method = '' }: IncomingMessage): HttpRefusal | undefined {
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

/** What is answered besides the protocol. */
interface Answering {
  readonly probes?: Probes;
  /** Told at `/metrics`, to those who have the token. */
  readonly metrics?: ProcessMetrics;
}

function isForMetrics({ method, url = '' }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && url.split('?', 1)[0] === '/metrics';
}

async function tellMetrics(metrics: ProcessMetrics, response: ServerResponse): Promise<void> {
  const text = await metrics.text();
  response.writeHead(200, { 'content-type': metricsType, 'cache-control': 'no-store' }).end(text);
}

async function answerProbe(probes: Probes, { url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, body } = (await probes.answer(url.split('?', 1)[0] ?? '')) as ProbeAnswer;
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body);
}

/**
 * Starts serving. @throws CONFIG_INVALID the address cannot be listened on, or others can reach it and there is no token;
 * CONFIG_MISSING_PEER
 */
export async function serveHttp(
  sdk: Sdk,
  createServer: (era: 'legacy' | 'modern') => McpServer,
  options: HttpOptions,
  log: (line: string) => void,
  { probes, metrics }: Answering = {},
): Promise<Serving> {
  const { host = '127.0.0.1', port = defaultPort, token, hosts = [], origins = [] } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const guard = createHttpGuard({ host, token, hosts, origins });
  const { toNodeHandler } = await loadNodeAdapter();
  const sessions = createHttpSessions(sdk, () => createServer('legacy'), limits);
  const onerror = ({ message }: Error): void => log(message);
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
    failed: (error, { method, url }) => log(`${method} ${JSON.stringify(url)} failed: ${String(error)}`),
    async handle(request, response) {
      if (probes !== undefined && isProbe(request.method, request.url)) return answerProbe(probes, request, response);
      const { refusal, page } = guard(request);
      if (refusal === undefined && metrics !== undefined && isForMetrics(request))
        return tellMetrics(metrics, response);
      if (page !== undefined) allowPage(request, response, page);
      const refused = refusal ?? (page !== undefined && request.method === 'OPTIONS' ? undefined : refusalOf(request));
      if (refused !== undefined) refuseRequest(response, refused);
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
