/** The studio as people use it: Chromium against the real server in a process of its own. Where there is no Chromium, this is skipped, and says so. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { within } from '../support/awaited.ts';
import { builtMain } from '../support/built-package.ts';
import { sample } from '../support/scale.ts';
import { findChromium } from '../support/chromium.ts';

const root = join(import.meta.dirname, '../..');
const executable = await findChromium();
const absent = 'there is no Chromium; CAIRN_CHROMIUM names one';

const token = 'a-token-of-the-tests-of-the-studio';
const folder = mkdtempSync(join(tmpdir(), 'cairn-studio-test-'));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let server: ChildProcess;
let url = '';
let browser: Browser;

async function serve(port: string): Promise<string> {
  const config = join(root, 'examples/studio/cairn.config.ts');
  const options = ['--json', '--token-file', join(folder, 'tokens.json'), '--config', config];
  const args = [
    builtMain,
    'serve',
    '--http',
    `127.0.0.1:${port}`,
    ...options,
    '--store',
    `sqlite:${folder}/runs.sqlite`,
  ];
  server = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await within('the server', once(server.stdout!, 'data'))) as [Buffer];
  return (JSON.parse(line.toString()) as { readonly url: string }).url;
}

beforeAll(async () => {
  if (executable === undefined) return;
  const scopes = ['read', 'run', 'answer', 'fork', 'admin'];
  writeFileSync(join(folder, 'tokens.json'), JSON.stringify([{ token, principal: 'ann', kind: 'person', scopes }]));
  url = await serve('0');
  browser = await chromium.launch({ executablePath: executable, args: ['--no-sandbox', '--disable-gpu'] });
}, 60_000);
afterAll(async () => {
  await browser?.close();
  server?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

interface Seen {
  readonly page: Page;
  /** What was asked of anybody. */
  readonly requests: readonly string[];
  /** What went wrong in the page. */
  readonly faults: readonly string[];
}

async function open(path: string, width = 1440, colorScheme: 'light' | 'dark' = 'light'): Promise<Seen> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, reducedMotion: 'reduce' });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const [requests, faults]: [string[], string[]] = [[], []];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource|ERR_CONNECTION/u.test(message.text()))
      faults.push(message.text());
  });
  await page.goto(url + path);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  return { page, requests, faults };
}

const hostile = `<img src=http://127.0.0.1:9/i onerror="document.title='taken'"> \u202egnidart ${'long'.repeat(80)}`;

async function start(page: Page, runId: string, fields: Readonly<Record<string, string>>): Promise<void> {
  await page.getByRole('link', { name: 'Start', exact: true }).click();
  await page.getByRole('link', { name: /^refund/u }).click();
  for (const [name, value] of Object.entries(fields)) await page.getByLabel(name).fill(value);
  await page.getByLabel('Id of the run').fill(runId);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('heading', { name: runId }).waitFor();
}

test('P6 a run is started, watched, answered, read where it failed, and forked with a preview; a killed server is gone on with', async (context) => {
  if (executable === undefined) context.skip(absent);
  const { page, requests, faults } = await open('/');
  await page.getByText('No runs yet').waitFor();
  await start(page, 'r1', { amount: '1800' });
  await page
    .getByRole('article', { name: 'Question of approve' })
    .getByRole('button', { name: 'yes', exact: true })
    .click();
  const why = page.getByRole('article', { name: 'Why it failed' });
  await why.getByText('The bank refused 1800 EUR').waitFor();
  await page.getByRole('list', { name: 'What happened' }).getByText('went on to pay').waitFor();

  await why.getByRole('link', { name: 'Fork from before it failed' }).click();
  const beside = page.getByRole('region', { name: 'What would happen' });
  await beside.getByText('pay', { exact: true }).waitFor();
  await page.getByLabel('amount').fill('100');
  await beside.getByText('1 changed').waitFor();
  // It was begun once: a second time needs a word of its own.
  await expect.poll(() => beside.getByRole('button', { name: 'Fork and run' }).isDisabled()).toBe(true);
  await beside.getByLabel('Yes, let pay').check();
  await beside.getByRole('button', { name: 'Fork and run' }).click();
  await page.getByText('forked from').waitFor();
  expect(page.url()).not.toContain('id=r1&');

  server.kill('SIGKILL');
  await page.getByText('The server cannot be reached').waitFor();
  await serve(new URL(url).port);
  await page.getByText('The server cannot be reached').waitFor({ state: 'hidden' });
  await start(page, 'r2', { customer: hostile });
  await page
    .getByRole('article', { name: 'Question of approve' })
    .getByRole('button', { name: 'yes', exact: true })
    .click();
  await page.getByText('completed in').waitFor();
  expect(await page.title()).not.toBe('taken');
  expect(requests.filter((one) => !one.startsWith(url))).toEqual([]);
  expect(requests.filter((one) => one.includes(token))).toEqual([]);
  expect(faults).toEqual([]);
}, 60_000);

test('P6 nothing is wider than its page, and axe finds no serious fault, at four widths, light and dark', async (context) => {
  if (executable === undefined) context.skip(absent);
  const found: unknown[] = [];
  const screens = [
    [390, 'light'],
    [1024, 'dark'],
    [1440, 'light'],
    [1920, 'dark'],
  ] as const;
  for (const [width, scheme] of sample(screens, 2, ([, scheme]) => scheme)) {
    const { page } = await open('/', width, scheme);
    for (const path of [
      '/',
      '/run?id=r1&node=pay',
      '/run?id=r2&tab=state',
      '/inbox',
      '/start?workflow=refund',
      '/fork?id=r1&at=4',
    ]) {
      await page.goto(url + path);
      await page.getByRole('heading').first().waitFor();
      await page.waitForLoadState('load');
      const wider = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      if (Number(wider) > 0) found.push([path, width, scheme, `wider by ${String(wider)}`]);
      await page.evaluate(axe);
      const result = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
        readonly violations: readonly {
          readonly id: string;
          readonly impact: string;
          readonly nodes: readonly { readonly html: string }[];
        }[];
      };
      for (const { id, impact, nodes } of result.violations)
        if (impact === 'serious' || impact === 'critical')
          found.push([path, width, scheme, id, nodes[0]?.html.slice(0, 160)]);
    }
    await page.context().close();
  }
  expect(found).toEqual([]);
}, 60_000);

test('P6 what the first page loads is of at most 30 KiB compressed, and the whole studio of at most 100', () => {
  const studio = join(builtMain, '../studio');
  const html = readFileSync(join(studio, 'index.html'), 'utf8');
  const files = readdirSync(join(studio, 'assets')).map((name) => ({
    name,
    sizeBytes: gzipSync(readFileSync(join(studio, 'assets', name)), { level: 9 }).length,
  }));
  const sumOf = (some: typeof files): number => some.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const first = sumOf(files.filter(({ name }) => html.includes(name)));
  console.log(`studio: first page ${first} bytes compressed, all ${sumOf(files)}`);
  expect(first).toBeGreaterThan(5_000);
  expect(first).toBeLessThanOrEqual(30 * 1024);
  expect(sumOf(files)).toBeLessThanOrEqual(100 * 1024);
});
