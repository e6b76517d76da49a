/** Real servers on the loopback interface. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import type { Inputs } from '../../graph/contracts/node-type.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { failBlock, runBlock } from '../../../test/support/run-block.ts';
import { httpCall } from './http-call.ts';

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

async function listen(server: Server, scheme = 'http'): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const serve = (listener: RequestListener): Promise<string> =>
  listen(
    createServer({ keepAlive: false }, (request, response) =>
      listener(request, response.setHeader('connection', 'close')),
    ),
  );

/** Answers with what it was asked. */
async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method, url, headers } = request;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }));
}
const origin = await serve((request, response) => void echo(request, response));
const asked = async (inputs: Inputs, options = {}): Promise<Record<string, unknown>> =>
  (await runBlock(httpCall, { url: origin, ...inputs }, options))['response_json'] as Record<string, unknown>;

test('B8 the output has the status, the body as text and as JSON, and the headers', async () => {
  const output = await runBlock(httpCall, { url: origin });
  expect(output).toMatchObject({ status_code: 200, success: true, response_json: { method: 'POST' } });
  expect(JSON.parse(output['response_body'] as string)).toEqual(output['response_json']);
  expect(output['headers']).toMatchObject({ 'content-type': 'application/json' });
});

test('B8 any value is sent as JSON, text as it is', async () => {
  for (const json of [[1, { a: null }], { a: 1 }, 'text', 5, false])
    expect(await asked({ json })).toMatchObject({
      body: JSON.stringify(json),
      headers: { 'content-type': 'application/json' },
    });
  expect(await asked({ json: null, content: null })).toMatchObject({ body: '' });
  expect(await asked({ content: '<a/>', headers: { 'content-type': 'text/xml' } })).toMatchObject({
    body: '<a/>',
    headers: { 'content-type': 'text/xml' },
  });
});

test('B8 the method, the query and the headers are sent', async () => {
  expect(await asked({ method: 'get', query: { q: 'a b', n: [1, 2] }, headers: { 'x-n': 5 } })).toMatchObject({
    method: 'GET',
    url: '/?q=a+b&n=1&n=2',
    headers: { 'x-n': '5' },
  });
});

test('X1 a request that may change something carries the idempotency key, and is external', async () => {
  expect(await asked({}, { idempotencyKey: 'key-9' })).toMatchObject({ headers: { 'idempotency-key': 'key-9' } });
  expect((await asked({ method: 'GET' }))['headers']).not.toHaveProperty('idempotency-key');
  const { effect } = httpCall;
  const classes = [{}, { method: 'GET' }, { method: 'head' }, { method: 'DELETE' }].map(
    (literals) => typeof effect === 'function' && effect(literals),
  );
  expect(classes).toEqual(['external', 'read', 'read', 'external']);
});

test('B9 another status fails the block, and the answer is kept', async () => {
  const url = await serve((request, response) => {
    response.statusCode = Number(request.url?.slice(1));
    response.setHeader('retry-after', '7').end('why');
  });
  expect(await failBlock(httpCall, { url: `${url}/404` })).toMatchObject({
    code: 'HTTP_STATUS',
    applied: 'unknown',
    data: { status_code: 404, response_body: 'why', response_json: null, success: false },
  });
  expect(await failBlock(httpCall, { url: `${url}/503` })).toMatchObject({
    code: 'HTTP_UNAVAILABLE',
    retryAfterMs: 7_000,
  });
  expect(await failBlock(httpCall, { url: `${url}/429` })).toMatchObject({ applied: 'no' });
});

test('B8 what only says that it is JSON is there as text, and so is what is compressed', async () => {
  const url = await serve((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/gzip') response.setHeader('content-encoding', 'gzip').end(gzipSync('[1]'));
    else response.end('{broken');
  });
  expect(await runBlock(httpCall, { url })).toMatchObject({ response_body: '{broken', response_json: null });
  expect(await runBlock(httpCall, { url: `${url}/gzip` })).toMatchObject({ response_json: [1] });
});

test('B10 a redirect is followed on its host; to another only if that is granted', async () => {
  const elsewhere = await serve((request, response) => response.end(request.url));
  const url = await serve((request, response) => {
    const location = { '/near': '/there', '/far': `${elsewhere}/there` }[request.url ?? ''];
    if (location !== undefined) response.writeHead(302, { location });
    response.end(request.url);
  });
  expect(await runBlock(httpCall, { url: `${url}/near` })).toMatchObject({ response_body: '/there' });
  const far = { url: `${url}/far`, method: 'GET' };
  expect(await failBlock(httpCall, far)).toMatchObject({ code: 'HTTP_REDIRECT' });
  const isGranted = ({ host }: { readonly host?: string | undefined }): boolean => host === new URL(elsewhere).host;
  expect(await runBlock(httpCall, far, { isGranted: isGranted as never })).toMatchObject({ response_body: '/there' });
  expect(await runBlock(httpCall, { ...far, follow_redirects: 'false' })).toMatchObject({
    status_code: 302,
    success: false,
  });
});

test('B10 it asks for the host, which no secret and no credential hides', () => {
  const hosts = [
    'https://example.org/a',
    'http://example.org:8080',
    'http://user@example.org@evil.org/',
    new SecretReference(['https://example.org/', { secret: 'T' }]),
    new SecretReference([{ secret: 'T' }]),
    undefined,
  ].map((url) => httpCall.needs?.({ url }).map((need) => (need.kind === 'net' ? need.host : 'other'))[0]);
  expect(hosts).toEqual(['example.org', 'example.org:8080', 'evil.org', 'example.org', undefined, undefined]);
});

test('B10 a secret cannot be the host, or a part of it', () => {
  const secret = { secret: 'T' };
  for (const parts of [[secret], ['https://', secret], ['https://example.org', secret], ['https://', secret, '/x']])
    expect(httpCall.check?.({ url: new SecretReference(parts) })).toMatchObject([{ input: 'url' }]);
  expect(httpCall.check?.({ url: new SecretReference(['https://example.org?key=', secret]) })).toEqual([]);
});

test('B6 secrets are sent, and their echo is masked', async () => {
  const token = new SecretReference(['Bearer ', { secret: 'API' }]);
  const inputs = {
    url: origin,
    headers: { authorization: token },
    json: { deep: [new SecretReference([{ secret: 'API' }])] },
  };
  const output = await runBlock(httpCall, inputs, { secrets: { API: 's3cret-value' } });
  expect(JSON.stringify(output)).not.toContain('s3cret-value');
  expect(output['response_json']).toMatchObject({
    headers: { authorization: 'Bearer [secret:API]' },
    body: '{"deep":["[secret:API]"]}',
  });
});

test('B8 what cannot be sent is refused, or says that nothing happened', async () => {
  const wrong: readonly Inputs[] = [{ url: 'ftp://x' }, { url: 'nonsense' }, { url: origin, headers: { 'a b': 'x' } }];
  for (const inputs of wrong)
    expect(await failBlock(httpCall, inputs)).toMatchObject({ code: 'REQUEST_INVALID', applied: 'no' });
  expect(httpCall.check?.({ json: 1, content: 'x' })).toMatchObject([{ input: 'content' }]);
  expect(httpCall.check?.({ method: 'GET', json: 1 })).toMatchObject([{ input: 'method' }]);
  expect(httpCall.check?.({ method: 'BREW' })).toMatchObject([{ input: 'method' }]);
});

test('N5 it ends when it is aborted', async () => {
  const abort = new AbortController();
  const url = await serve(() => abort.abort(new Error('over')));
  expect(await failBlock(httpCall, { url }, { signal: abort.signal })).toMatchObject({ message: 'over' });
});

test('B10 a certificate that cannot be trusted is refused, unless verify_ssl is false', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-tls-'));
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(folder, name)) as [string, string];
  try {
    const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'];
    execFileSync('openssl', [...args, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  } catch {
    context.skip('openssl is not there to make a certificate');
  }
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    if (request.url === '/redirect') response.writeHead(302, { location: '/', connection: 'close' }).end();
    else void echo(request, response.setHeader('connection', 'close'));
  });
  rmSync(folder, { recursive: true });
  const url = await listen(server, 'https');
  expect(await failBlock(httpCall, { url })).toMatchObject({ code: 'HTTP_CONNECTION' });
  expect(await runBlock(httpCall, { url, verify_ssl: 'false', json: [1] })).toMatchObject({
    success: true,
    response_json: { method: 'POST', body: '[1]' },
  });
  expect(await runBlock(httpCall, { url: `${url}/redirect`, verify_ssl: false })).toMatchObject({
    response_json: { method: 'GET', url: '/' },
  });
});
