/** The guide's browser: Playwright's MCP server with real Chromium. Its process is killed, and the next one opens the last page again. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { findChromium } from '../support/chromium.ts';
import { packageDoors } from '../support/package-doors.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-browser-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const doorOf = (name: string): string => pathToFileURL(packageDoors[name] ?? '').href;
const guide = readFileSync(join(import.meta.dirname, '../../docs/guide/browser.md'), 'utf8');
for (const [, name = '', code = ''] of guide.matchAll(/^```ts file=(\S+)\n(.*?)^```$/gmsu))
  writeFileSync(
    join(folder, name),
    code.replaceAll(/'(cairn-workflows[\w/-]*)'/gu, (_, door: string) => `'${doorOf(door)}'`),
  );

writeFileSync(
  join(folder, 'run.ts'),
  `
  import { AgentGraph, END, START } from '${doorOf('cairn-workflows')}';
  import { agent, tool } from '${doorOf('cairn-workflows/agents')}';
  import { createScriptedModels } from '${doorOf('cairn-workflows/testing')}';
  import { allowHosts } from './allowed-hosts.ts';
  import { browserTools } from './browser-tools.ts';

  const { site, command } = JSON.parse(process.argv[2]);
  const proxy = await allowHosts([new URL(site).host]);
  const pages = ['/login', '/away', '/account'].map((path) => ({ tool: 'browser__browser_navigate', input: { url: site + path } }));
  const calls = [...pages, { tool: 'note', input: {} }, { tool: 'browser__browser_snapshot', input: {} }];
  const told = [];
  const models = createScriptedModels(({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').flatMap(({ content }) => content);
    told.splice(0, told.length, ...results.map(({ output }) => JSON.stringify(output)));
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
  console.log(JSON.stringify({ status: result.status, error: result.error?.message, told, refused: proxy.refused }));
  setInterval(() => {}, 1_000);
`,
);

const chromium = await findChromium();

test.skipIf(chromium === undefined)(
  `A22.4 a browser opens its last page again in another process, logged out, and reaches allowed hosts alone${chromium === undefined ? ': there is no Chromium' : ''}`,
  { timeout: 120_000 },
  async () => {
    const asked: string[] = [];
    const site = createServer((request, response) => {
      asked.push(request.url ?? '');
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
      folder,
    ];
    const lineOfKilled = async (): Promise<unknown> => {
      const where = JSON.stringify({ site: `http://127.0.0.1:${(site.address() as AddressInfo).port}`, command });
      const args = ['--disable-warning=ExperimentalWarning', join(folder, 'run.ts'), where];
      const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = once(child, 'exit');
      try {
        const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), ended])) as [unknown];
        return typeof line === 'string' ? JSON.parse(line) : `it ended with ${String(line)}`;
      } finally {
        child.kill('SIGKILL');
        await ended;
      }
    };
    try {
      const containing = (...texts: readonly string[]): unknown =>
        expect.stringMatching(new RegExp(texts.join('.*'), 'u'));
      const first = await lineOfKilled();
      expect(first).toMatchObject({
        status: 'paused',
        told: [containing('/login', 'logged out'), expect.any(String), containing('/account', 'logged in')],
        refused: expect.arrayContaining(['elsewhere.example:80', 'pictures.example:80']) as string[],
      });
      asked.length = 0;
      const second = (await lineOfKilled()) as { status: string; told: readonly string[] };
      expect(second.status).toBe('completed');
      expect(second.told.at(-1)).toEqual(
        containing('The browser was opened anew, at http://127.0.0.1:\\d+/account', 'logged out'),
      );
      expect(asked).toEqual(['/account']);
    } finally {
      site.closeAllConnections();
      site.close();
    }
  },
);
