/** The guide's browser: Playwright's MCP server with real Chromium. Its process is killed, and the next one opens the last page again. */
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { crashProcesses } from '../../src/testing/crash-kit/crash-processes.ts';
import { bundleScript } from '../support/bundled-script.ts';
import { findChromium } from '../support/chromium.ts';
import { openGuideProgram } from '../support/guide-program.ts';
import { isProving } from '../support/scale.ts';

const program = openGuideProgram(
  'browser.md',
  `
  import { AgentGraph, END, START } from 'cairn-workflows';
  import { agent, tool } from 'cairn-workflows/agents';
  import { createScriptedModels } from 'cairn-workflows/models';
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

/** The same tools, killed at every point: a form is sent, once, whatever page the next browser begins at. */
const killed = openGuideProgram(
  'browser.md',
  `
  import { basename } from 'node:path';
  import { AgentGraph, END, START } from 'cairn-workflows';
  import { agent } from 'cairn-workflows/agents';
  import { createScriptedModels } from 'cairn-workflows/models';
  import { runCrashScript } from 'cairn-workflows/testing';
  import { openSqliteStore } from 'cairn-workflows/stores/sqlite';
  import { allowHosts } from './allowed-hosts.ts';
  import { browserTools } from './browser-tools.ts';

  const { site, command } = JSON.parse(process.env.CAIRN_CASE_BROWSER);
  const proxy = await allowHosts([new URL(site).host]);
  let trial = '';
  const resultsOf = (messages) => messages.filter(({ role }) => role === 'tool').flatMap(({ content }) => content).map(({ output }) => JSON.stringify(output));
  const orders = async () => (await fetch(site + '/orders', { headers: { 'user-agent': trial } })).json();
  const models = () => createScriptedModels(({ messages }) => {
    const results = resultsOf(messages);
    const next = [
      { tool: 'browser__browser_navigate', input: { url: site + '/form' } },
      { tool: 'browser__browser_click', input: { element: 'Order', target: 'button' } },
      { tool: 'browser__browser_navigate', input: { url: site + '/account' } },
      { tool: 'browser__browser_snapshot', input: {} },
    ][results.length];
    const page = /Page URL: (http[^\\s"\\\\]+)/u.exec(results.at(-1))?.[1];
    if (next !== undefined) return { calls: [{ id: 'c' + results.length, ...next }] };
    return page === site + '/account' ? 'Done.' : new Error('the last page is ' + results.at(-1));
  });
  await runCrashScript({
    enter: (folder) => { trial = basename(folder); },
    openStore: (folder) => openSqliteStore({ path: folder + '/runs.db' }),
    graph: () =>
      new AgentGraph({}, { id: 'reader', checkpointPolicy: 'every_node' })
        .addNode('read', agent({ model: 'm', prompt: 'Order.', servers: [browserTools(proxy.url, [...command, '--user-agent', trial])] }))
        .addEdge(START, 'read')
        .addEdge('read', END)
        .toGraph(),
    input: {},
    models,
    // A person who looks whether the order is there. A page that is opened again does no harm.
    decide: async ({ prompt, metadata }) => {
      if (!JSON.stringify([prompt, metadata]).includes('browser_click')) return undefined;
      return (await orders()) > 0 ? { decision: 'happened', output: 'ordered' } : 'run again';
    },
    inspect: async () => {
      if ((await orders()) !== 1) throw new Error('the form was sent another number of times: ' + (await orders()));
    },
  });
  process.exit();
`,
);
afterAll(() => {
  program.remove();
  killed.remove();
});

const chromium = await findChromium();
const without = chromium === undefined ? ': there is no Chromium' : '';

/** Serves a site on loopback, and says how the browser is started for it. */
async function withSite(
  answer: RequestListener,
  folder: string,
  work: (where: string) => Promise<void>,
): Promise<void> {
  const site = createServer(answer);
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  const cli = join(dirname(createRequire(import.meta.url).resolve('@playwright/mcp/package.json')), 'cli.js');
  const command = [process.execPath, cli, '--no-sandbox', '--executable-path', chromium ?? '', '--output-dir', folder];
  try {
    await work(JSON.stringify({ site: `http://127.0.0.1:${(site.address() as AddressInfo).port}`, command }));
  } finally {
    site.closeAllConnections();
    site.close();
  }
}

test.skipIf(chromium === undefined)(
  `A22.4 a browser opens its last page again in another process, logged out, and reaches allowed hosts alone${without}`,
  { timeout: 120_000 },
  async () => {
    const requested: string[] = [];
    const answer: RequestListener = (request, response) => {
      // Some versions of Chromium ask for the icon of a site of their own accord.
      if (request.url !== '/favicon.ico') requested.push(request.url ?? '');
      const isIn = request.headers.cookie === 'user=ann';
      if (request.url === '/away') response.writeHead(302, { location: 'http://elsewhere.example/' }).end();
      else {
        response.writeHead(200, {
          'content-type': 'text/html',
          ...(request.url === '/login' && { 'set-cookie': 'user=ann' }),
        });
        response.end(`<title>${isIn ? 'logged in' : 'logged out'}</title><img src="http://pictures.example/a.png">`);
      }
    };
    await withSite(answer, program.folder, async (where) => {
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
    });
  },
);

test.skipIf(chromium === undefined || !isProving)(
  `A22.4 a browser whose processes are killed at every point ends at the same page, and its form is sent once${without || (isProving ? '' : ': in `npm run prove` alone, since each kill starts a browser')}`,
  { timeout: 2_400_000 },
  async () => {
    const orders = new Map<string, number>();
    const answer: RequestListener = (request, response) => {
      const trial = request.headers['user-agent'] ?? '';
      if (request.method === 'POST') orders.set(trial, (orders.get(trial) ?? 0) + 1);
      response.writeHead(200, { 'content-type': 'text/html' });
      const form = '<title>shop</title><form method="post" action="/order"><button>Order</button></form>';
      if (request.url === '/orders') response.end(JSON.stringify(orders.get(trial) ?? 0));
      else response.end(request.url === '/form' ? form : '<title>shop</title>Thank you.');
    };
    await withSite(answer, killed.folder, async (where) => {
      vi.stubEnv('CAIRN_CASE_BROWSER', where);
      const script = await bundleScript(join(killed.folder, 'run.ts'));
      // The model is told that a browser was opened anew, so what it is asked is not the same as without a crash.
      const report = await crashProcesses({ script, folder: join(killed.folder, 'trials'), isScheduleFree: false });
      console.log(`browser: ${report.trials} of ${report.points} processes killed, ${report.missed} too late`);
      expect(report.faults).toEqual([]);
      expect(report.points).toBeGreaterThan(20);
      expect(orders.get('quiet')).toBe(1);
    });
  },
);
