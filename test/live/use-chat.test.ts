/**
 * `useChat` of React in strict mode, in Chromium, as the page of the guide about Next has it: reloaded in the middle of an answer and at an
 * approval, in two tabs, stopped, and over a kill of its server. Where there is no Chromium, this is skipped, and says so.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { within } from '../support/awaited.ts';
import { findChromium } from '../support/chromium.ts';
import { absent } from '../support/studio.ts';

const here = import.meta.dirname;
let folder = '';
let script = '';
let browser: Browser | undefined;
let server: ChildProcess | undefined;
let context: BrowserContext | undefined;
let url = '';
const faults: string[] = [];

/** The page of the guide, mounted as strict mode mounts: each effect twice. */
async function bundlePage(): Promise<string> {
  const guide = readFileSync(join(here, '../../docs/guide/next.md'), 'utf8');
  const [, page = ''] = /^```tsx\n\/\/ app\/page\.tsx\n(.*?)^```$/msu.exec(guide) ?? [];
  const mount = `import { createRoot } from 'react-dom/client';
import { StrictMode } from 'react';
createRoot(document.getElementById('root')).render(<StrictMode><Page /></StrictMode>);`;
  const { outputFiles } = await build({
    stdin: { contents: `${page}\n${mount}`, loader: 'tsx', resolveDir: here },
    bundle: true,
    write: false,
    jsx: 'automatic',
    format: 'iife',
    logLevel: 'error',
    // Strict mode mounts twice in development alone.
    define: { 'process.env.NODE_ENV': '"development"' },
  });
  return outputFiles[0]?.text ?? '';
}

async function serve(port = '0'): Promise<void> {
  const args = [join(here, 'chat-server.ts'), join(folder, 'runs.db'), script, port];
  server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await within('the server', once(server.stdout!, 'data'))) as [Buffer];
  url = line.toString().trim();
}

async function kill(): Promise<void> {
  if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
}

beforeAll(async () => {
  const executablePath = await findChromium();
  if (executablePath === undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'cairn-use-chat-'));
  script = join(folder, 'page.js');
  writeFileSync(script, await bundlePage());
  await serve();
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await kill();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Each test is a user of its own. */
let users = 0;
beforeEach(async (test) => {
  if (browser === undefined) return test.skip(absent);
  await fetch(`${url}/hold`);
  context = await browser.newContext();
  context.setDefaultTimeout(30_000);
  users += 1;
  await context.addCookies([{ name: 'user', value: `user${users}`, url }]);
  return undefined;
});
afterEach(async () => {
  await context?.close();
  const found = faults.splice(0);
  if (found.length > 0) throw new Error(found.join('\n'));
});

async function openTab(): Promise<Page> {
  const page = await (context as BrowserContext).newPage();
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource|ERR_/u.test(message.text()))
      faults.push(message.text());
  });
  await page.goto(url);
  await page.getByRole('textbox').waitFor();
  return page;
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

/** The messages of the page, a line each. */
const readChat = (page: Page): Promise<readonly string[]> => page.locator('main > div').allInnerTexts();

/** Waits until the page shows a text, and no answer is on its way. */
async function untilReady(page: Page, text: string): Promise<void> {
  await page.getByText(text, { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
}

test('CH1.1 CH2 a page reloaded in the middle of an answer, and a second tab, go on with it and show each message once (vercel/ai 18457)', async () => {
  const page = await openTab();
  await say(page, 'hello');
  await untilReady(page, 'You said: hello');
  await say(page, 'slow one');
  await page.getByText('You said: slow one', { exact: true }).waitFor();
  const second = await openTab();
  await page.reload();
  for (const tab of [page, second]) await tab.getByText('You said: slow one', { exact: true }).waitFor();
  await fetch(`${url}/go`);
  const whole = ['user hello', 'assistant You said: hello', 'user slow one', 'assistant You said: slow one. The end.'];
  for (const tab of [page, second]) {
    await untilReady(tab, 'You said: slow one. The end.');
    expect(await readChat(tab)).toEqual(whole);
  }
  await page.reload();
  await page.getByRole('textbox').waitFor();
  expect(await readChat(page)).toEqual(whole);
});

test('CH3 CH4 an approval stays over a reload and is given there; one for staff has no button', async () => {
  const page = await openTab();
  await say(page, 'cancel it');
  await page.getByRole('button', { name: 'Yes' }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Yes' }).click();
  await untilReady(page, 'It is done.');
  expect(await readChat(page)).toEqual([
    'user cancel it',
    expect.stringMatching(/^assistant\s+cancel \{"order":"A-17"\}: output-available\s+It is done\.$/u),
  ]);
  await say(page, 'refund me');
  await page.getByText(/refund .*: input-available/u).waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await page.reload();
  await page.getByText(/refund .*: input-available/u).waitFor();
  expect(await page.getByRole('button', { name: /Yes|No/u }).count()).toBe(0);
});

test('CH6 the button that stops ends an answer that a reloaded page goes on with (vercel/ai 6502), and the chat goes on', async () => {
  const page = await openTab();
  await say(page, 'hello');
  await untilReady(page, 'You said: hello');
  await say(page, 'slow one');
  await page.getByText('You said: slow one', { exact: true }).waitFor();
  await page.reload();
  await page.getByText('You said: slow one', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await say(page, 'next');
  await untilReady(page, 'You said: next');
  await page.reload();
  await untilReady(page, 'You said: next');
  expect(await readChat(page)).toEqual([
    'user hello',
    'assistant You said: hello',
    'user next',
    'assistant You said: next',
  ]);
});

test('CH7 a server that is killed in the middle of an answer loses nothing: the reloaded page shows the answer once, made anew', async () => {
  const page = await openTab();
  await say(page, 'hello');
  await untilReady(page, 'You said: hello');
  await say(page, 'slow one');
  await page.getByText('You said: slow one', { exact: true }).waitFor();
  await kill();
  await serve(new URL(url).port);
  await page.reload();
  await page.getByText('You said: slow one', { exact: true }).waitFor();
  await fetch(`${url}/go`);
  await untilReady(page, 'You said: slow one. The end.');
  expect(await readChat(page)).toEqual([
    'user hello',
    'assistant You said: hello',
    'user slow one',
    'assistant You said: slow one. The end.',
  ]);
});
