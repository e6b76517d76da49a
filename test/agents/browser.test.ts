/** The guide's browser: Playwright's MCP server with real Chromium. Its process is killed, and the next one opens the last page again. */
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findChromium } from '../support/chromium.ts';
import { openGuideProgram } from '../support/guide-program.ts';

const program = openGuideProgram(
  'browser.md',
  `
  import { AgentGraph, END, START } from 'cairn-workflows';
  import { agent, tool } from 'cairn-workflows/agents';
  import { createScriptedModels } from 'cairn-workflows/testing';
  import { allowHosts } from './allowed-hosts.ts';
  import { browserTools } from './browser-tools.ts';

  const { site, command } = JSON.parse(process.argv[2]);
  const proxy = await allowHosts([new URL(site).host]);
  const pages = ['/login', '/away', '/account'].map((path) => ({ tool: 'browser__browser_navigate', input: { url: site + path } }));
  const calls = [...pages, { tool: 'note', input: {} }, { tool: 'browser__browser_snapshot', input: {} }];
  const shown = [];
  const models = createScriptedModels(({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').flatMap(({ content }) => content);
    shown.splice(0, shown.length, ...results.map(({ output }) => JSON.stringify(output)));
    const next = calls[results.length];
    return next === undefined ? 'Done.' : { calls: [{ id: 'c' + results.length, ...next }] };
  });
  const note = tool({ description: 'Notes.', input: { type: 'object' }, approval: 'always', run: () => 'noted' });
  const app = new AgentGraph({}, { id: 'reader' })
    .addNode('read', agent({ model: 'm', prompt: 'Go.', tools: { note }, servers: [browserTools(proxy.url, command)] }))
    .addEdge(START, 'read')
    .addEdge('read', END)
    .compile({ store: 'sqlite:' + import.meta.dirname + '/runs.db', models });
  const { engine } = app;
  const known = await engine.ports.store.readRun({ tenant: engine.ports.tenant, runId: 'reader' });
  let result;
  if (known) {
    const [wait] = await engine.waits('reader');
    await engine.answer('reader', wait.waitId, 'approve');
    result = await (await engine.resume('reader')).result();
  } else result = await app.invoke({}, { runId: 'reader' });
  console.log(JSON.stringify({ status: result.status, error: result.error?.message, shown, refused: proxy.refused }));
  setInterval(() => {}, 1_000);
`,
);
afterAll(() => program.remove());

const chromium = await findChromium();

test.skipIf(chromium === undefined)(
  `A22.4 a browser opens its last page again in another process, logged out, and reaches allowed hosts alone${chromium === undefined ? ': there is no Chromium' : ''}`,
  { timeout: 120_000 },
  async () => {
    const requested: string[] = [];
    const site = createServer((request, response) => {
      requested.push(request.url ?? '');
      const isIn = request.headers.cookie === 'user=ann';
      if (request.url === '/away') response.writeHead(302, { location: 'http://elsewhere.example/' }).end();
      else {
        response.writeHead(200, {
          'content-type': 'text/html',
          ...(request.url === '/login' && { 'set-cookie': 'user=ann' }),
        });
        response.end(`<title>${isIn ? 'logged in' : 'logged out'}</title><img src="http://pictures.example/a.png">`);
      }
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    const cli = join(dirname(createRequire(import.meta.url).resolve('@playwright/mcp/package.json')), 'cli.js');
    const command = [
      process.execPath,
      cli,
      '--no-sandbox',
      '--executable-path',
      chromium ?? '',
      '--output-dir',
      program.folder,
    ];
    const where = JSON.stringify({ site: `http://127.0.0.1:${(site.address() as AddressInfo).port}`, command });
    try {
      const containing = (...texts: readonly string[]): unknown =>
        expect.stringMatching(new RegExp(texts.join('.*'), 'u'));
      const first = await program.firstLine([where]);
      expect(first).toMatchObject({
        status: 'paused',
        shown: [containing('/login', 'logged out'), expect.any(String), containing('/account', 'logged in')],
        refused: expect.arrayContaining(['elsewhere.example:80', 'pictures.example:80']) as string[],
      });
      requested.length = 0;
      const second = (await program.firstLine([where])) as { status: string; shown: readonly string[] };
      expect(second.status).toBe('completed');
      expect(second.shown.at(-1)).toEqual(
        containing('The browser was opened anew, at http://127.0.0.1:\\d+/account', 'logged out'),
      );
      expect(requested).toEqual(['/account']);
    } finally {
      site.closeAllConnections();
      site.close();
    }
  },
);
