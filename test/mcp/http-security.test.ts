/** Who may speak to the MCP server over HTTP (M10 to M12 of docs/spec/mcp.md). */
import { readSamples } from '../support/prometheus-text.ts';
import { recordLog } from '../support/recorded-log.ts';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { CairnError } from '../../src/errors.ts';
import { startMcpServer, type HttpOptions, type RunningMcpServer } from '../../src/mcp/index.ts';

const running: RunningMcpServer[] = [];

async function start(http: HttpOptions = {}): Promise<string> {
  const server = await startMcpServer({
    cwd: tmpdir(),
    storeUrl: 'memory:',
    http: { port: 0, ...http },
    log: recordLog().log,
  });
  running.push(server);
  return server.url ?? '';
}

afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});

interface Reply {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

const opening = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

/** Not fetch: that sets Host itself. */
function post(url: string, headers: Readonly<Record<string, string>> = {}, body: string = opening): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const given = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
    const sent = request(url, { method: 'POST', headers: given }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('over HTTP', () => {
  test('M10 a request with a foreign Host or Origin is refused, one of this machine is not', async () => {
    const url = await start();
    expect(await post(url, { host: 'evil.example' })).toMatchObject({ status: 403 });
    expect(await post(url, { origin: 'https://evil.example' })).toMatchObject({ status: 403 });
    expect(await post(url, { origin: 'null' })).toMatchObject({ status: 403 });
    expect(await post(url, { origin: 'http://localhost:5173' })).toMatchObject({ status: 403 });
    expect(await post(url, { origin: new URL(url).origin })).toMatchObject({ status: 200 });
    expect(await post(url)).toMatchObject({ status: 200 });
  });

  test('M10 further names can be allowed, and only those', async () => {
    const url = await start({ hosts: ['cairn.example'] });
    expect(await post(url, { host: 'cairn.example' })).toMatchObject({ status: 200 });
    expect(await post(url, { host: 'cairn.example.evil.example' })).toMatchObject({ status: 403 });
  });

  test('M11 with a token, only requests that bring it are answered', async () => {
    const url = await start({ token: 'a-long-token' });
    for (const authorization of ['Bearer a-long-tokeN', 'Bearer a-long-token-and-more', 'Bearer', 'Basic a-long-token'])
      expect(await post(url, { authorization })).toMatchObject({ status: 401 });
    const refused = await post(url);
    expect(refused).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer realm="cairn"' } });
    expect(refused.body).not.toContain('a-long-token');
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { authorization: 'Bearer a-long-token' } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    expect((await client.listTools()).tools.length).toBeGreaterThan(10);
    await client.close();
  });

  test('O3.2.4 probes need no token and no known name', async () => {
    const url = new URL(await start({ token: 'a-long-token', hosts: ['runs.example'] }));
    for (const [path, word] of Object.entries({ livez: 'ok', readyz: 'ready' })) {
      const response = await fetch(new URL(`/${path}`, url));
      expect([response.status, await response.json()]).toEqual([200, { status: word }]);
    }
    expect((await fetch(new URL('/livez/x', url))).status).toBe(401);
  });

  test('E10.9 metrics are told to who has the token', async () => {
    const url = new URL('/metrics', await start({ token: 'a-long-token' }));
    expect((await fetch(url)).status).toBe(401);
    const answer = await fetch(url, { headers: { authorization: 'Bearer a-long-token' } });
    expect([...readSamples(await answer.text()).keys()].some((name) => name.startsWith('cairn_build_info'))).toBe(true);
  });

  test('M11 an address that others can reach needs a token, and an empty one is none', async () => {
    for (const http of [{ host: '0.0.0.0' }, { host: '::' }, { host: '127.0.0.1', token: '' }]) {
      const starting = start(http);
      await expect(starting).rejects.toSatisfy((error) => CairnError.is(error, 'CONFIG_INVALID'));
    }
  });

  test('M11 one that listens on all addresses may be called by any name, with the token', async () => {
    const url = (await start({ host: '0.0.0.0', token: 'a-long-token' })).replace('0.0.0.0', '127.0.0.1');
    const authorization = 'Bearer a-long-token';
    expect(await post(url, { authorization, host: 'cairn.example' })).toMatchObject({ status: 200 });
    expect(await post(url, { host: 'cairn.example' })).toMatchObject({ status: 401 });
    expect(await post(url, { authorization, origin: 'https://evil.example' })).toMatchObject({ status: 403 });
  });

  test('M12 a body over the limit is refused, whatever its length is said to be', async () => {
    const url = await start({ limits: { bodyBytes: 2_000 } });
    const large = opening.replace('"test"', `"${'x'.repeat(3_000)}"`);
    expect(await post(url, {}, large)).toMatchObject({ status: 413 });
    expect(await post(url, { 'transfer-encoding': 'chunked' }, large)).toMatchObject({ status: 413 });
    expect(await post(url)).toMatchObject({ status: 200 });
  });

  test('M12 sessions are bounded: the one that was idle longest makes room, and who has the token gets in', async () => {
    const url = await start({ token: 'a-long-token', limits: { sessions: 3 } });
    const authorization = 'Bearer a-long-token';
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' });
    const reach = async (session: string): Promise<number> =>
      (await post(url, { authorization, 'mcp-session-id': session }, ping)).status;
    const open = async (): Promise<string> => {
      const { status, headers } = await post(url, { authorization });
      expect(status).toBe(200);
      return String(headers['mcp-session-id']);
    };
    const first = await open();
    // A hundred that never say goodbye: without the token they have no session, and with it they take turns.
    for (let index = 0; index < 100; index += 1) expect((await post(url)).status).toBe(401);
    const [second, third] = [await open(), await open()];
    expect(await reach(first)).toBe(200);
    const fourth = await open();
    expect(await reach(second)).toBe(404);
    expect([await reach(first), await reach(third), await reach(fourth)]).toEqual([200, 200, 200]);
    for (let index = 0; index < 100; index += 1) await open();
    expect(await reach(fourth)).toBe(404);
  });

  test('M12 a socket over which no whole request comes is closed', async () => {
    const url = new URL(await start({ limits: { requestMs: 50 } }));
    for (const said of [
      '',
      'POST /mcp HTTP/1.1\r\nHost: localh',
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{',
    ]) {
      const socket = connect(Number(url.port), url.hostname);
      const closed = once(socket, 'close');
      socket.resume().write(said);
      await closed;
    }
    expect(await post(url.href)).toMatchObject({ status: 200 });
  });

  test('M12 what is no opening makes no session, and other paths are not there', async () => {
    const url = await start({ limits: { sessions: 1 } });
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect((await post(url, {}, list)).status).toBe(400);
    const session = String((await post(url)).headers['mcp-session-id']);
    expect((await post(url, {}, '{')).status).toBe(400);
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' });
    expect(await post(url, { 'mcp-session-id': session }, ping)).toMatchObject({ status: 200 });
    expect(await post(url.replace('/mcp', '/'))).toMatchObject({ status: 404 });
    expect(await post(url)).toMatchObject({ status: 200 });
  });
});
