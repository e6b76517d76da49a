/** The studio as people use it. Where there is no Chromium, this is skipped, and says so. */
import { createServer, type Server } from 'node:http';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtMain } from '../support/built-package.ts';
import { sample, scale } from '../support/scale.ts';
import { absent, faultsOf, readToken, startRefund, StudioServer, token } from '../support/studio.ts';

/** Screenshots of each run of these tests are kept until the next. */
const pictures = join(import.meta.dirname, '../../.cairn/studio-test');
const studio = new StudioServer();
let isThere = false;
beforeAll(async () => {
  mkdirSync(join(studio.folder, 'workflows'));
  writeFileSync(
    join(studio.folder, 'workflows', 'lists.yaml'),
    'name: lists\ninputs: { tags: { type: list, default: [a, b] }, place: { type: dict, default: { x: 1 } } }\nblocks: [{ id: say, type: EchoBlock, inputs: { message: "${inputs.tags}" } }]\n',
  );
  isThere = await studio.open();
}, 240_000);
afterAll(() => studio.close());

const hostile = `<img src=http://127.0.0.1:9/i onerror="document.title='taken'"> \u202egnidart ${'long'.repeat(80)}`;

async function answer(page: Page, choice: string): Promise<void> {
  const question = page.getByRole('article', { name: 'Question of approve' });
  await question.getByRole('button', { name: choice, exact: true }).click();
}

/** Runs a command that the page gives to copy, on the store of the server. */
async function runCopied(page: Page, beginning: string): Promise<string> {
  const copied = await page
    .locator('.copy code', { hasText: `cairn ${beginning}` })
    .first()
    .textContent();
  const place = `--store '${studio.store}' --config '${studio.config}'`;
  const line = `${copied?.replace(/^cairn/u, `'${process.execPath}' '${builtMain}'`)} ${place}`;
  return execFileSync('sh', ['-c', line], { cwd: studio.folder, encoding: 'utf8' });
}

test('P6 this browser keeps pages apart: what another origin answers cannot be read', async (context) => {
  if (!isThere) context.skip(absent);
  const other: Server = createServer((_, response) => void response.end('a secret of another origin'));
  await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
  const page = await studio.browser.newPage();
  // A page without a policy of its own: only the browser stands between.
  await page.goto(`${studio.url}/healthz`);
  const read = `fetch(${JSON.stringify(address)}).then((response) => response.text()).catch(() => 'refused')`;
  expect(await page.evaluate(read)).toBe('refused');
  expect(await (await fetch(address)).text()).toBe('a secret of another origin');
  other.close();
  await page.close();
});

test('P6 a stranger does five tasks by what the page says: starts a run, answers what waits, reads why one failed, sees what an agent did, and forks it', async (context) => {
  if (!isThere) context.skip(absent);
  const { page, requests, faults } = await studio.signIn('/');
  await page.getByText('No runs yet').waitFor();
  // Starts a run.
  await page.getByRole('link', { name: 'Start a run' }).first().click();
  await page.getByRole('link', { name: /^refund/u }).click();
  await page.getByLabel('amount').fill('1800');
  await page.getByLabel('Id of the run').fill('r1');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('heading', { name: 'r1' }).waitFor();
  await page.getByRole('article', { name: 'Question of approve' }).waitFor();
  // Finds what waits, and answers it.
  await page.getByRole('link', { name: /^Inbox/u }).click();
  await page.getByRole('article', { name: 'Question of approve' }).getByText('Pay 1800 EUR back').waitFor();
  await page.getByLabel('Asked').selectOption('last hour');
  await page.getByLabel('Graph').selectOption('refund');
  await page.getByLabel('Label').fill('team=none');
  await page.getByLabel('Label').press('Enter');
  await page.getByText('No question fits').waitFor();
  await page.getByRole('link', { name: 'Show all' }).click();
  await answer(page, 'yes');
  // Finds why it failed.
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.getByRole('link', { name: 'Needs attention' }).click();
  await page
    .getByRole('list', { name: 'Runs' })
    .getByRole('link', { name: /r1.*failed after/u })
    .click();
  const why = page.getByRole('article', { name: 'Why it failed' });
  await why.getByText('The bank refused 1800 EUR').waitFor();
  // With the line of the user's own code, and no dot that leads to nothing.
  await why.getByText(/at pay \(.*graph\.ts:\d+:\d+/mu).waitFor();
  expect(await why.innerText()).not.toMatch(/·\s*$/mu);
  await page.getByRole('list', { name: 'What happened' }).getByText('went on to pay').waitFor();
  // Sees what the agent did, and what it cost.
  await page.getByRole('tab', { name: 'Agents' }).click();
  await page.getByText(/adviser · 2 turns · orders · \d+ tokens/u).waitFor();
  await page.getByRole('list', { name: 'Conversation' }).getByText('calls orders').waitFor();
  // Forks it with another amount, and sees beforehand what acts again.
  await why.getByRole('link', { name: 'Fork from before it failed' }).click();
  const beside = page.getByRole('region', { name: 'What would happen' });
  await page.getByText('Outputs of nodes and values of the state can be set').waitFor();
  await page.getByLabel('amount').fill('100');
  await beside.getByText('1 changed').waitFor();
  await beside.getByText('may act again').waitFor();
  // It was begun once: a second time needs a word of its own.
  await expect.poll(() => beside.getByRole('button', { name: 'Fork and run' }).isDisabled()).toBe(true);
  await beside.getByLabel('Yes, let pay').check();
  await beside.getByRole('button', { name: 'Fork and run' }).click();
  await page.getByText('forked from').waitFor();
  // What was answered about another amount is asked anew.
  await page.getByRole('article', { name: 'Question of approve' }).getByText('Pay 100 EUR back').waitFor();
  await answer(page, 'yes');
  await page.getByText('completed in').waitFor();
  // The one that failed needs nobody any more, and says so.
  await page.getByRole('link', { name: 'Runs', exact: true }).first().click();
  await page
    .getByRole('list', { name: 'Runs' })
    .getByRole('link', { name: /r1.*succeeded in/u })
    .waitFor();
  await page
    .getByRole('list', { name: 'Runs' })
    .getByText(/\d+ tok/u)
    .first()
    .waitFor();
  await page.getByRole('link', { name: 'Needs attention' }).click();
  await page.getByText('No run fits').waitFor();
  expect(requests.filter((one) => !one.startsWith(studio.url))).toEqual([]);
  expect(requests.filter((one) => one.includes(token))).toEqual([]);
  expect(faults).toEqual([]);
}, 240_000);

test('P6 two tabs of one browser share what they are signed in with; who answers second is told who was first; a preview that no longer holds is shown anew', async (context) => {
  if (!isThere) context.skip(absent);
  const { page, context: browser, faults } = await studio.signIn('/');
  await startRefund(page, 'r2', { customer: 'Cem' });
  await page.getByRole('article', { name: 'Question of approve' }).waitFor();
  const second = await studio.tab(browser, '/fork?id=r2&at=0');
  const beside = second.page.getByRole('region', { name: 'What would happen' });
  await beside.getByText('replayed from the record').first().waitFor();
  expect(
    await beside
      .getByRole('listitem')
      .filter({ hasText: /^approve/u })
      .textContent(),
  ).not.toContain('replayed');
  const third = await studio.tab(browser, '/run?id=r2');
  const question = third.page.getByRole('article', { name: 'Question of approve' });
  await question.getByRole('button', { name: 'no', exact: true }).waitFor();
  // The third tab hears nothing of the answer of the first.
  await third.page.route('**/v1/**', (route) =>
    route.request().method() === 'GET' ? route.abort() : route.continue(),
  );
  await answer(page, 'no');
  await page.getByText('completed in').waitFor();
  // The new rule comes before the old one goes, so that nothing is heard between them.
  // Its story alone may be read: by that the tab finds out who was first.
  await third.page.route('**/v1/runs/**', (route) =>
    route.request().method() === 'GET' && !new URL(route.request().url()).pathname.endsWith('/story')
      ? route.abort()
      : route.continue(),
  );
  await third.page.unroute('**/v1/**');
  await question.getByRole('button', { name: 'yes', exact: true }).click();
  await question.getByText(/answered already by ann at \d\d:\d\d: no/u).waitFor();
  // What the second tab saw would happen otherwise by now: the answer is on record.
  await beside.getByRole('button', { name: 'Fork and run' }).click();
  await beside.getByText('What would happen has changed since you looked').waitFor();
  await beside
    .getByRole('listitem')
    .filter({ hasText: /^approve/u })
    .getByText('replayed from the record')
    .waitFor();
  await page.goto(`${studio.url}/run?id=r2&node=approve`);
  await page.getByRole('link', { name: 'Fork before it' }).waitFor();
  expect([...faults, ...second.faults]).toEqual([]);
  await browser.close();

  const eve = await studio.signIn('/run?id=r2', { token: readToken });
  await eve.page.getByText('completed in').waitFor();
  expect(await eve.page.getByRole('link', { name: 'Fork', exact: true }).count()).toBe(0);
  // Beside what is told of a node, too, there is a fork for those only who may make one.
  await eve.page.goto(`${studio.url}/run?id=r2&node=approve`);
  await eve.page.getByText('1 visit').first().waitFor();
  expect(await eve.page.getByRole('link', { name: 'Fork before it' }).count()).toBe(0);
  await eve.page.getByRole('button', { name: 'Sign out' }).click();
  await eve.page.getByLabel('Token').fill('no token of anybody at all');
  await eve.page.getByRole('button', { name: 'Sign in' }).click();
  await eve.page.getByRole('alert').waitFor();
  await eve.context.close();
}, 240_000);

test('P6 the start form shows each default that it sends, lists and objects too, and takes what is typed in their place', async (context) => {
  if (!isThere) context.skip(absent);
  const { page, faults } = await studio.visit('/');
  await page.getByRole('link', { name: 'Start a run' }).first().click();
  await page.getByRole('link', { name: /^lists/u }).click();
  const tags = page.getByLabel('tags');
  await expect.poll(() => tags.inputValue()).toBe(JSON.stringify(['a', 'b'], null, 2));
  expect(JSON.parse(await page.getByLabel('place').inputValue())).toEqual({ x: 1 });
  await tags.fill('["c", ');
  await page.getByText('This is no JSON yet').waitFor();
  await tags.fill('["c",  "d"]');
  expect(await tags.inputValue()).toBe('["c",  "d"]');
  await page.getByLabel('Id of the run').fill('lists-1');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('heading', { name: 'lists-1' }).waitFor();
  expect(faults).toEqual([]);
});

test('P6 a killed server is gone on with, an effect in doubt has three answers each with what follows, and texts are texts', async (context) => {
  if (!isThere) context.skip(absent);
  const { page, faults } = await studio.visit('/');
  await studio.kill();
  await page.getByText('The server cannot be reached').waitFor();
  const port = new URL(studio.url).port;
  await studio.serve(port, { DIE_WHILE_PAYING: '1' });
  await page.getByText('The server cannot be reached').waitFor({ state: 'hidden' });
  await startRefund(page, 'r3', { customer: hostile });
  await answer(page, 'yes');
  // It dies while it pays.
  await page.getByText('The server cannot be reached').waitFor();
  await studio.serve(port);
  await page.getByRole('button', { name: 'Resume', exact: true }).click();
  await page.getByRole('button', { name: 'Resume the run' }).click();
  const doubt = page.getByRole('article', { name: 'Did pay happen?' });
  await doubt.waitFor();
  for (const [name, follows] of [
    ['It happened', 'mail'],
    ['Let it fail', 'fails'],
    ['Run it again', 'acts again'],
  ] as const) {
    await doubt.getByRole('button', { name: new RegExp(`^${name}`, 'u') }).click();
    await doubt.getByRole('list', { name: 'What would happen' }).getByText(follows).first().waitFor();
    if (name === 'It happened') await doubt.getByText('recorded as empty').waitFor();
  }
  expect(await doubt.innerText()).not.toMatch(/act until|Jan 1/);
  await runCopied(page, 'answer r3');
  await page.getByText('completed in').waitFor();
  expect(await page.title()).not.toBe('taken');
  expect(faults).toEqual([]);

  await startRefund(page, 'r4', {});
  await page.getByRole('article', { name: 'Question of approve' }).waitFor();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await runCopied(page, 'cancel r4');
  await page.getByRole('button', { name: 'Not now' }).click();
  await page.getByText('cancelled').first().waitFor();
}, 240_000);

test('P6 the graph is a pane: zoomed, fitted, dragged, widened, shown alone, one stop of the tab key, and a tab on a narrow screen', async (context) => {
  if (!isThere) context.skip(absent);
  const { page, faults } = await studio.visit('/run?id=r1');
  const graph = page.getByRole('region', { name: 'Graph', exact: true });
  const size = graph.getByRole('group', { name: 'Size of the picture' });
  const widthOf = async (): Promise<number> => (await graph.locator('svg.picture').first().boundingBox())?.width ?? 0;
  const usual = await widthOf();
  for (let time = 0; time < 3; time += 1) await size.getByRole('button', { name: 'Larger' }).click();
  await expect.poll(widthOf).toBeGreaterThan(1.9 * usual);
  // It is dragged, and what was dragged is not clicked.
  const box = graph.locator('.picture-box');
  const inBox = (words: string): Promise<unknown> =>
    page.evaluate(`((box) => ${words})(document.querySelector('.picture-box'))`);
  const scrolled = (): Promise<unknown> => inBox('box.scrollLeft + box.scrollTop');
  const place = (await box.boundingBox()) as { readonly x: number; readonly y: number };
  const before = Number(await scrolled());
  const address = page.url();
  await page.mouse.move(place.x + 200, place.y + 120);
  await page.mouse.down();
  await page.mouse.move(place.x + 230, place.y + 180, { steps: 4 });
  await page.mouse.up();
  expect(Number(await scrolled())).not.toBe(before);
  expect(page.url()).toBe(address);
  await size.getByRole('button', { name: 'Fit' }).click();
  expect(await inBox('box.scrollHeight <= box.clientHeight + 1')).toBe(true);
  // One stop of the tab key; arrow keys go from node to node.
  expect(await box.locator('a[tabindex="0"]').count()).toBe(1);
  const focused = (): Promise<unknown> => page.evaluate('document.activeElement.getAttribute("aria-label")');
  await box.locator('a[tabindex="0"]').focus();
  const first = await focused();
  await page.keyboard.press('ArrowDown');
  expect(await focused()).not.toBe(first);
  expect(await box.locator('a[tabindex="0"]').count()).toBe(1);
  // It is widened by the keys, and stays so.
  const side = page.getByRole('complementary', { name: 'Graph and forks' });
  const sideWidth = async (): Promise<number> => (await side.boundingBox())?.width ?? 0;
  const narrow = await sideWidth();
  await page.getByRole('separator', { name: 'Width of the graph' }).press('ArrowLeft');
  await expect.poll(sideWidth).toBe(narrow + 40);
  await page.reload();
  await expect.poll(sideWidth).toBe(narrow + 40);
  await graph.getByRole('link', { name: 'Show it alone' }).click();
  await page.getByRole('tab', { name: 'Story', exact: true }).waitFor({ state: 'hidden' });
  expect(await sideWidth()).toBeGreaterThan(1_000);
  await graph.getByRole('link', { name: 'Show it beside the rest' }).click();
  await page.getByRole('tab', { name: 'Story', exact: true }).waitFor();
  expect(await page.getByRole('tab', { name: 'Graph' }).count()).toBe(0);
  await page.setViewportSize({ width: 1024, height: 900 });
  await page.getByRole('tab', { name: 'Graph' }).click();
  await page
    .getByRole('tabpanel')
    .getByRole('group', { name: /^Graph of/u })
    .waitFor();
  expect(await faultsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
  await page.close();
});

const screens = [390, 1024, 1440, 1920].flatMap((width) =>
  (['light', 'dark', 'forced'] as const).map((theme) => ({ width, theme })),
);

/** By the names of their screenshots. */
const pages: Readonly<Record<string, string>> = {
  runs: '/',
  run: '/run?id=r1&node=pay',
  state: '/run?id=r3&tab=state',
  past: '/run?id=r1&at=3&tab=timeline',
  agents: '/run?id=r1&tab=agents',
  inbox: '/inbox',
  start: '/start?workflow=refund',
  fork: '/fork?id=r1&at=4',
  graph: '/run?id=r1&tab=graph&graph=alone',
  spans: '/run?id=r1&tab=spans',
  history: '/run?id=r1&tab=history',
  compare: '/compare?a=r1&b=r3',
  schedules: '/schedules',
  workers: '/workers',
  absent: '/run?id=none',
  nowhere: '/nowhere',
};

/** Adds up how far what is seen moves without anybody's doing. */
const watchShifts =
  'window.moved = 0; new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value; }).observe({ type: "layout-shift", buffered: true });';

test('P6 nothing moves while a page comes, nothing is wider than its box, and axe finds no fault, at four widths, light, dark and in colours of the system', async (context) => {
  if (!isThere) context.skip(absent);
  const started = await fetch(`${studio.url}/v1/runs/r3`, { headers: { authorization: `Bearer ${token}` } });
  // Else empty pages would be looked at.
  if (started.status === 404) context.skip('the tests above start the runs that it looks at');
  const found: unknown[] = [];
  // Each page is seen on each screen in `npm run prove`; in the gate some pages are, each on some screen.
  const looks = screens.flatMap((screen) => Object.keys(pages).map((name) => ({ ...screen, name })));
  const taken = Object.groupBy(sample(looks, 3), ({ width, theme }) => `${width} ${theme}`);
  for (const [screen, these = []] of Object.entries(taken)) {
    const { width = 0, theme = 'light' } = these[0] ?? {};
    const isForced = theme === 'forced';
    const colorScheme = isForced ? 'light' : theme;
    const { page } = await studio.visit('/', { width, colorScheme, isForced });
    await page.addInitScript(watchShifts);
    for (const { name } of these) {
      await page.goto(studio.url + pages[name]);
      await page.getByRole('heading').first().waitFor();
      await expect.poll(async () => page.locator('[aria-busy=true]').count()).toBe(0);
      for (const fault of await faultsOf(page)) found.push([name, screen, fault]);
      const moved = Number(await page.evaluate('window.moved'));
      if (moved > 0.000_1) found.push([name, screen, `moved by ${moved.toFixed(4)}`]);
      await page.screenshot({ path: join(pictures, `${name}-${width}-${theme}.png`) });
    }
    await page.close();
  }
  console.log(
    `studio: ${looks.length} looks at most, screenshots of ${Object.values(taken).flat().length} in ${pictures}`,
  );
  expect(found).toEqual([]);
}, 2_400_000);

test('P6 megabytes of text and a hundred levels are shown as far as anybody reads', async (context) => {
  if (!isThere) context.skip(absent);
  let deep: unknown = 'the end';
  for (let level = 0; level < 100; level += 1) deep = { [`level${level}`]: deep };
  const input = { order: 'A-1', customer: 'x'.repeat(scale(500_000, 3_500_000)), amount: 5, reason: 'late' };
  await studio.call('POST', '/runs', { workflow: 'refund', runId: 'big', input });
  await studio.call('POST', '/checkpoints/big@0/forks', { runId: 'deep', set: { 'scratch.log': [deep] } });
  const { page, faults } = await studio.visit('/run?id=big&tab=state');
  // The large value is left out until it is asked for.
  const readIt = page.getByRole('button', { name: 'read it' });
  await readIt.first().waitFor();
  const [answer] = await Promise.all([
    page.waitForResponse((one) => /\/checkpoints\/\d+$/u.test(one.url())),
    page.reload(),
  ]);
  const { view } = (await answer.json()) as { readonly view: { readonly state: { readonly input: object } } };
  expect(view.state.input).toMatchObject({ customer: { omitted: { bytes: input.customer.length } } });
  await readIt.first().click();
  await page
    .getByText(/(?:3\s)?49\d\s\d\d\d more characters/u)
    .first()
    .waitFor();
  expect(Number(await page.evaluate('document.querySelectorAll("*").length'))).toBeLessThan(1_500);
  await studio.call('DELETE', '/runs/big').catch(() => undefined);
  await page.goto(`${studio.url}/run?id=deep&tab=state`);
  await page.getByText('The state', { exact: true }).waitFor();
  const item = page.getByRole('button', { name: /^0/u }).first();
  await item.waitFor();
  if ((await item.getAttribute('aria-expanded')) === 'false') await item.click();
  await page.getByRole('button', { name: /^level99/u }).waitFor();
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 what the first page loads is of at most 30 KiB compressed, and the whole studio of at most 100', () => {
  const folder = join(builtMain, '../studio');
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  const names = readdirSync(join(folder, 'assets')).filter((name) => !/\.(?:br|gz)$/u.test(name));
  const files = names.map((name) => ({
    name,
    sizeBytes: gzipSync(readFileSync(join(folder, 'assets', name)), { level: 9 }).length,
  }));
  const sumOf = (some: typeof files): number => some.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const first = sumOf(files.filter(({ name }) => html.includes(name)));
  console.log(`studio: first page ${first} bytes compressed, all ${sumOf(files)}`);
  expect(first).toBeGreaterThan(5_000);
  expect(first).toBeLessThanOrEqual(30 * 1024);
  expect(sumOf(files)).toBeLessThanOrEqual(100 * 1024);
});
