/** What a handler tells probes, and what it shows as a page. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { AgentGraph, END, START } from '../index.ts';
import { bearerTokens } from './authorize.ts';
import { createHandler } from './handler.ts';

test('O3.2.4 probes need no token and no known name, and are told one word; what is not served is no page', async () => {
  const pages = mkdtempSync(join(tmpdir(), 'cairn-pages-'));
  onTestFinished(() => rmSync(pages, { recursive: true }));
  writeFileSync(join(pages, 'index.html'), '<p>page</p>');
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('a', () => 'a')
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile();
  const token = 'token-of-ann-0123456789';
  const authorize = bearerTokens([{ token, principal: 'ann', kind: 'person', scopes: ['read'] }]);
  const hosts = ['runs.example'];
  const handler = createHandler({ graphs: [graph], authorize, basePath: '/cairn', pages, hosts });
  const ask = (path: string, { host = hosts[0], headers = {} } = {}): Promise<Response> =>
    handler(new Request(`http://${host}/cairn/${path}`, { headers }));
  for (const [path, word] of Object.entries({ livez: 'ok', readyz: 'ready', healthz: 'ok' })) {
    const response = await ask(path, { host: '10.0.0.7:8080' });
    expect([response.status, await response.json()]).toEqual([200, { status: word }]);
  }
  expect((await ask('runs/r')).headers.get('content-type')).toContain('text/html');
  const headers = { authorization: `Bearer ${token}` };
  for (const path of ['v1', 'v1/none', 'livez/x', 'readyz/x', 'healthz/x', 'metrics/x'])
    expect([path, (await ask(path)).status, (await ask(path, { headers })).status]).toEqual([path, 401, 404]);
  handler.close();
  expect((await ask('readyz')).status).toBe(503);
  await graph.close();
});
