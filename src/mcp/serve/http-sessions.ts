/** Sessions of clients that begin with `initialize`. Their number is limited; a new session replaces the one that was idle longest. */
import { randomUUID } from 'node:crypto';
import type { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { McpServer, Sdk } from './server-house.ts';

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

export function createHttpSessions(sdk: Sdk, createServer: () => McpServer, limits: SessionLimits): HttpSessions {
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
