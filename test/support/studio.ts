/** The studio under test: Chromium against the real server in a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { within } from './awaited.ts';
import { builtMain } from './built-package.ts';
import { findChromium } from './chromium.ts';

const root = join(import.meta.dirname, '../..');

export const token = 'a-token-of-the-tests-of-the-studio';
export const readToken = 'a-token-that-may-only-look-at-runs';
/** Why the tests are skipped where there is no browser. */
export const absent = 'there is no Chromium; CAIRN_CHROMIUM names one';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface Seen {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What was asked of anybody. */
  readonly requests: readonly string[];
  /** What went wrong in the page. */
  readonly faults: readonly string[];
}

export interface OpenOptions {
  readonly width?: number;
  readonly colorScheme?: 'light' | 'dark';
  /** Whether the system sets the colours, as in a high-contrast mode. */
  readonly isForced?: boolean;
  readonly token?: string;
}

export class StudioServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'cairn-studio-test-'));
  readonly store = `sqlite:${this.folder}/runs.sqlite`;
  readonly config: string;
  url = '';
  #browser: Browser | undefined;
  #server: ChildProcess | undefined;
  /** Browsers that pages share, by their screens. */
  readonly #contexts = new Map<string, BrowserContext>();

  constructor(config = join(root, 'examples/studio/cairn.config.ts')) {
    this.config = config;
  }

  get browser(): Browser {
    if (this.#browser === undefined) throw new Error('the browser is not there');
    return this.#browser;
  }

  /** @returns whether there is a browser */
  async open(env: Readonly<Record<string, string>> = {}): Promise<boolean> {
    const executablePath = await findChromium();
    if (executablePath === undefined) return false;
    const scopes = ['read', 'run', 'answer', 'fork', 'admin', 'chat'];
    const tokens = [
      { token, principal: 'ann', kind: 'person', scopes },
      { token: readToken, principal: 'eve', kind: 'person', scopes: ['read'] },
    ];
    writeFileSync(join(this.folder, 'tokens.json'), JSON.stringify(tokens));
    await this.serve('0', env);
    const args = ['--no-sandbox', '--disable-gpu', '--enable-precise-memory-info', '--js-flags=--expose-gc'];
    this.#browser = await chromium.launch({ executablePath, args });
    return true;
  }

  async serve(port: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
    const options = [
      '--json',
      '--log-level',
      'warn',
      '--token-file',
      join(this.folder, 'tokens.json'),
      '--config',
      this.config,
    ];
    // A store that is typed might be somebody else's, so its runs start no modules, unless this command makes it.
    const isNew = !existsSync(join(this.folder, 'runs.sqlite'));
    const [typed, named] = isNew ? [['--store', this.store], {}] : [[], { CAIRN_STORE: this.store }];
    const args = [builtMain, 'serve', '--http', `127.0.0.1:${port}`, ...options, ...typed];
    this.#server = spawn(process.execPath, args, {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...named, ...env },
    });
    const [line] = (await within('the server', once(this.#server.stdout!, 'data'))) as [Buffer];
    this.url = (JSON.parse(line.toString()) as { readonly url: string }).url;
  }

  /** Ends the server as a crash does, and waits until it is gone. */
  async kill(): Promise<void> {
    const ended =
      this.#server?.exitCode === null && this.#server.signalCode === null ? once(this.#server, 'exit') : undefined;
    this.#server?.kill('SIGKILL');
    await ended;
  }

  async close(): Promise<void> {
    await this.#browser?.close();
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** A page of a browser that pages of the same screen share: what one of them has loaded is not loaded again. It is signed in. */
  async visit(path: string, options: OpenOptions = {}): Promise<Seen> {
    const { width, colorScheme, isForced, token: given = token } = options;
    const key = `${width} ${colorScheme} ${isForced}`;
    const context = this.#contexts.get(key) ?? (await this.#createContext(options));
    this.#contexts.set(key, context);
    const keep = `if (location.origin === ${JSON.stringify(this.url)}) sessionStorage.setItem('cairn.token', ${JSON.stringify(given)})`;
    const seen = await this.tab(context, path, keep);
    await seen.page.getByRole('navigation', { name: 'Pages' }).waitFor();
    return seen;
  }

  /** A browser of its own, signed in by its form. */
  async signIn(path: string, options: OpenOptions = {}): Promise<Seen> {
    const seen = await this.tab(await this.#createContext(options), path);
    await seen.page.getByLabel('Token').fill(options.token ?? token);
    await seen.page.getByRole('button', { name: 'Sign in' }).click();
    await seen.page.getByRole('navigation', { name: 'Pages' }).waitFor();
    return seen;
  }

  async #createContext({
    width = 1440,
    colorScheme = 'light',
    isForced = false,
  }: OpenOptions): Promise<BrowserContext> {
    const viewport = { width, height: width < 500 ? 844 : 900 };
    const forcedColors = isForced ? 'active' : 'none';
    const context = await this.browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce', forcedColors });
    context.setDefaultTimeout(60_000);
    return context;
  }

  /** Another tab of the same browser. @param before - a script that runs before those of its pages */
  async tab(context: BrowserContext, path: string, before?: string): Promise<Seen> {
    const page = await context.newPage();
    if (before !== undefined) await page.addInitScript(before);
    const [requests, faults]: [string[], string[]] = [[], []];
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/Failed to load resource|ERR_CONNECTION/u.test(message.text()))
        faults.push(message.text());
    });
    await page.goto(this.url + path);
    return { page, context, requests, faults };
  }

  /** Sends a request as a program does. */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', prefer: 'wait=30' };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${this.url}/v1${path}`, { method, headers, ...text });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }
}

/** What is wider than its box, and what is cut without a way to see the whole. */
const findWide = `[...document.querySelectorAll('html, body *:not(svg, svg *, .hidden-text)')].flatMap((element) => {
  const more = element.scrollWidth - element.clientWidth;
  if (more <= 1 || element.clientWidth === 0) return [];
  const { overflowX, textOverflow } = getComputedStyle(element);
  const name = element.tagName + '.' + element.className + ' ' + element.textContent.slice(0, 40);
  if (textOverflow === 'ellipsis') return element.closest('[title]') || element.matches('input, select') ? [] : ['cut: ' + name];
  return overflowX === 'visible' || overflowX === 'hidden' ? ['wider by ' + more + ': ' + name] : [];
})`;

/** Faults of a page that a person would meet: what does not fit its box, and all that axe finds, such as too little contrast. */
export async function faultsOf(page: Page): Promise<readonly unknown[]> {
  const found: unknown[] = [...((await page.evaluate(findWide)) as readonly string[])];
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
  const result = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string }[];
    }[];
  };
  for (const { id, nodes } of result.violations) found.push([id, nodes[0]?.html.slice(0, 160)]);
  return found;
}

/** Begins a refund by the form. */
export async function startRefund(page: Page, runId: string, fields: Readonly<Record<string, string>>): Promise<void> {
  await page.getByRole('link', { name: 'Start', exact: true }).click();
  await page.getByRole('link', { name: /^refund/u }).click();
  for (const [name, value] of Object.entries(fields)) await page.getByLabel(name).fill(value);
  await page.getByLabel('Id of the run').fill(runId);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('heading', { name: runId }).waitFor();
}
