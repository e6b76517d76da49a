/** Ten things that people who operate runs do in the studio, each by the words on its pages. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtMain } from '../support/built-package.ts';
import { absent, faultsOf, StudioServer } from '../support/studio.ts';
import { runInShop, shopConfig } from '../support/studio-shop.ts';

const studio = new StudioServer(shopConfig);
/** The writer says its last word when this file is there. */
const gate = join(studio.folder, 'gate');
let isThere = false;
beforeAll(async () => {
  mkdirSync(join(studio.folder, 'workflows'));
  writeFileSync(
    join(studio.folder, 'workflows/report.yaml'),
    'name: report\nblocks: [{ id: say, type: EchoBlock, inputs: { message: hello } }]\n',
  );
  writeFileSync(
    join(studio.folder, 'workflows/note.yaml'),
    'name: note\ntitle: "Note for ${inputs.who}"\ninputs: { who: { type: str } }\nblocks: [{ id: say, type: EchoBlock, inputs: { message: "${inputs.who}" } }]\n',
  );
  writeFileSync(
    join(studio.folder, 'workflows/long.yaml'),
    'name: long\nblocks: [{ id: a_block_whose_name_is_longer_than_its_box, type: EchoBlock, inputs: { message: hello } }]\n',
  );
  isThere = await studio.open({ LAST_WORD_AT: gate });
}, 240_000);
afterAll(() => studio.close());

test('P6 all failed runs of one workflow in the last hour are found by chips with counts, looked at, and cancelled at once', async (context) => {
  if (!isThere) context.skip(absent);
  for (const [runId, amount] of [
    ['o1', 10],
    ['o2', 1_800],
    ['o3', 13],
    ['o4', 2_000],
    ['o5', 3_000],
  ] as const)
    await runInShop(studio, 'order', runId, { amount }, { user: amount > 1_900 ? 'ann' : 'bo' });
  await runInShop(studio, 'parcel', 'p1');
  const { page, faults } = await studio.visit('/');
  const list = page.getByRole('list', { name: 'Runs' });
  await list.getByRole('link', { name: /o2.*pay: The card was declined/u }).waitFor();
  await page.getByLabel('Graph').selectOption('order');
  await page.getByLabel('Started').selectOption('last hour');
  await page.getByRole('button', { name: 'failed 4' }).click();
  await expect.poll(() => list.getByRole('link').count()).toBe(4);
  // What is no label is said, and not passed over.
  await page.getByLabel('Label').fill('ann');
  await page.getByLabel('Label').press('Enter');
  await page.getByRole('alert').getByText('A label is a name and a value').waitFor();
  await page.getByLabel('Label').fill('user=ann');
  await page.getByLabel('Label').press('Enter');
  await expect.poll(() => list.getByRole('link').count()).toBe(2);
  await page.getByRole('link', { name: /label user=ann/u }).click();
  await page.getByLabel('Error code').fill('BANK_TIMED_OUT');
  await page.getByLabel('Error code').press('Enter');
  await expect.poll(() => list.getByRole('link').count()).toBe(1);
  await page.getByRole('link', { name: /failed by BANK_TIMED_OUT/u }).click();
  // Some are chosen, then all.
  await page.getByLabel('Select o3').check();
  await page.getByText('1 run selected').waitFor();
  await page.getByRole('button', { name: /^Select all 4 that match/u }).click();
  expect(await faultsOf(page)).toEqual([]);
  // They are labelled; that moves none of them, so that they can be cancelled next.
  await page.getByRole('region', { name: 'Selected runs' }).getByRole('button', { name: 'Label' }).click();
  const labels = page.getByRole('dialog', { name: 'Label 4 runs' });
  await labels.getByLabel('Label').fill('look');
  await labels.getByLabel('Value').fill('monday');
  expect(await labels.textContent()).toContain('--set look=monday');
  expect(await faultsOf(page)).toEqual([]);
  await labels.getByRole('button', { name: 'Label 4 runs' }).click();
  await page.getByText('Label 4 runs: 4 done').waitFor();
  const marked = (await studio.call('GET', '/runs?label=look%3Amonday')) as { runs: readonly unknown[] };
  expect(marked.runs.length).toBe(4);
  await page.getByLabel('Select o3').check();
  await page.getByRole('button', { name: /^Select all 4 that match/u }).click();
  await page.getByRole('region', { name: 'Selected runs' }).getByRole('button', { name: 'Cancel' }).click();
  const dialog = page.getByRole('dialog', { name: 'Cancel 4 runs' });
  await expect.poll(() => dialog.getByRole('list', { name: 'Which' }).getByRole('listitem').count()).toBe(4);
  expect(await dialog.textContent()).toContain('cairn cancel --status failed --graph order --since 1h');
  expect(await faultsOf(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Cancel 4 runs' }).click();
  await page.getByText('Cancel 4 runs: 4 done').waitFor();
  // The address shows it to whoever opens it again.
  await page.reload();
  await page.getByText('Cancel 4 runs: 4 done').waitFor();
  const { runs } = (await studio.call('GET', '/runs?status=cancelled')) as { runs: readonly { runId: string }[] };
  expect(runs.map(({ runId }) => runId).sort()).toEqual(['o2', 'o3', 'o4', 'o5']);
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 a tool call is read as a table with its own lines, approved with an edited field, and another refused with a reason', async (context) => {
  if (!isThere) context.skip(absent);
  await runInShop(studio, 'upkeep', 'u1');
  await runInShop(studio, 'upkeep', 'u2');
  const { page, faults } = await studio.visit('/run?id=u1');
  const question = page.getByRole('article', { name: 'Question of keeper' });
  await question.getByRole('heading', { name: 'May the agent call run_command?', exact: true }).waitFor();
  expect(
    await question
      .getByRole('row', { name: /^command/u })
      .locator('pre')
      .innerText(),
  ).toBe('tar czf /backup/orders.tgz \\\n  /var/orders');
  expect(await question.innerText()).not.toContain('{');
  await question.getByRole('button', { name: 'Edit' }).click();
  await question.getByLabel('keepDays').fill('900');
  await question.getByRole('button', { name: 'Approve with 1 change' }).click();
  await question.getByText('The most is 90.').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await question.getByLabel('keepDays').fill('7');
  await question.getByRole('button', { name: 'Approve with 1 change' }).click();
  await page.getByText('completed in').waitFor();
  await page.getByRole('tab', { name: 'Agents' }).click();
  await page.getByText('kept for 7 days').first().waitFor();

  await page.goto(`${studio.url}/run?id=u2`);
  await question.getByRole('button', { name: 'Refuse' }).click();
  await question.getByLabel('Why not, for whoever asks').fill('Not in the daytime');
  await question.getByRole('button', { name: 'Refuse' }).click();
  await page.getByText('completed in').waitFor();
  await page.getByRole('tab', { name: 'Agents' }).click();
  await page.getByText('Not in the daytime').first().waitFor();
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 a form says all that is wrong beside its fields, and takes a date, a mail address, a number, a list and a file as the answer', async (context) => {
  if (!isThere) context.skip(absent);
  await runInShop(studio, 'claim', 'c1');
  const { page, faults } = await studio.visit('/run?id=c1');
  const question = page.getByRole('article', { name: 'Question of details' });
  await question.getByLabel('mail').fill('ann at home');
  await question.getByLabel('price').fill('9000');
  await question.getByRole('button', { name: 'Add to parts' }).click();
  await question.getByRole('button', { name: 'Answer', exact: true }).click();
  await question.getByText('5 fields are not right yet.').waitFor();
  for (const fault of ['This is no mail address.', 'The most is 5000.', 'This is empty.', 'A file is needed.'])
    await question.getByText(fault).waitFor();
  await expect.poll(() => question.getByLabel('mail').getAttribute('aria-invalid')).toBe('true');
  await expect.poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('mail');
  expect(await faultsOf(page)).toEqual([]);
  await question.getByLabel('mail').fill('ann@example.com');
  await question.getByLabel('bought').fill('2026-11-02');
  await question.getByLabel('price').fill('49.5');
  await question.getByLabel('parts 1', { exact: true }).fill('lid');
  await question.getByRole('button', { name: 'Add to parts' }).click();
  await question.getByRole('button', { name: 'Add to parts' }).click();
  await question.getByLabel('parts 2', { exact: true }).fill('handle');
  await question.getByRole('button', { name: 'Remove parts 3' }).click();
  const photo = Buffer.from('no picture, but bytes: \u00fc\0');
  await question.getByLabel('photo').setInputFiles({ name: 'kettle.png', mimeType: 'image/png', buffer: photo });
  await question.getByText(/kettle\.png, \d+ B/u).waitFor();
  await question.getByRole('button', { name: 'Answer', exact: true }).click();
  await page.getByText('completed in').waitFor();
  const { state } = (await studio.call('GET', '/runs/c1')) as { state: { outputs: { details: unknown } } };
  expect(state.outputs.details).toEqual({
    mail: 'ann@example.com',
    bought: '2026-11-02',
    price: 49.5,
    parts: ['lid', 'handle'],
    photo: photo.toString('base64'),
  });
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 why a run failed is read to the line, in the innermost of nested runs, with the state before it', async (context) => {
  if (!isThere) context.skip(absent);
  await runInShop(studio, 'order', 'f1', { amount: 1_700 });
  const { page, faults } = await studio.visit('/?q=f1');
  await page.getByRole('list', { name: 'Runs' }).getByRole('link', { name: /^f1/u }).click();
  const why = page.getByRole('article', { name: 'Why it failed' });
  await why.getByRole('heading', { name: 'The card was declined: 1700 EUR is above its limit' }).waitFor();
  await why.getByRole('link', { name: 'pay / charge' }).waitFor();
  await why.getByText('CARD_DECLINED').waitFor();
  await why.getByText(/at charge \(.*graphs\.ts:\d+:\d+/mu).waitFor();
  expect(await why.innerText()).not.toMatch(/·\s*$/mu);
  expect(await faultsOf(page)).toEqual([]);
  await why.getByRole('link', { name: 'See the state before' }).click();
  await page.getByText(/shown as it was at \d+ of/u).waitFor();
  await page.getByText('The state', { exact: true }).waitFor();
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 a fork is previewed and run, leads to its original in one click, and the two are compared side by side', async (context) => {
  if (!isThere) context.skip(absent);
  await runInShop(studio, 'order', 'k1', { amount: 1_900 });
  const { page, faults } = await studio.visit('/run?id=k1');
  await page.getByRole('link', { name: 'Fork from before it failed' }).click();
  const beside = page.getByRole('region', { name: 'What would happen' });
  await page.getByLabel('amount').fill('20');
  await beside.getByText('1 changed').waitFor();
  await beside.getByRole('listitem').filter({ hasText: /^pay/u }).first().waitFor();
  // What acts a second time is allowed by its name.
  await expect.poll(() => beside.getAttribute('aria-busy')).toBe('false');
  for (const allow of await beside.getByLabel(/^Yes, let/u).all()) await allow.check();
  await beside.getByRole('button', { name: 'Fork and run' }).click();
  await page.getByText('completed in').waitFor();
  await page.getByRole('link', { name: 'compare with the original' }).click();
  const first = page.getByRole('region', { name: 'First run' });
  const second = page.getByRole('region', { name: 'Second run' });
  await first.getByText('failed after').waitFor();
  await second.getByText('completed in').waitFor();
  const state = page.getByRole('region', { name: 'State and outputs' });
  const row = (name: string) => state.getByRole('row', { name: new RegExp(`^${name.replaceAll('.', '\\.')}`, 'u') });
  expect(await row('input.amount').innerText()).toMatch(/1900\s+20/u);
  expect(await row('outputs.pay').innerText()).toMatch(/nothing\s+\{"receipt":"R-20"\}/u);
  const route = page.getByRole('region', { name: 'Route' });
  expect(await route.getByRole('row', { name: /^ship/u }).innerText()).toMatch(/not visited\s+completed/u);
  expect(await faultsOf(page)).toEqual([]);
  await second.getByRole('link', { name: /^k1@/u }).click();
  await page.getByRole('heading', { name: 'k1', exact: true }).waitFor();
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 a live answer is watched word by word on the page of its run, with the tools that it calls', async (context) => {
  if (!isThere) context.skip(absent);
  const { page, faults } = await studio.visit('/inbox');
  void studio.call('POST', '/runs', { workflow: 'letter', runId: 'l1' });
  await expect
    .poll(async () =>
      studio.call('GET', '/runs/l1').then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  await page.goto(`${studio.url}/run?id=l1`);
  const live = page.getByRole('article', { name: 'write is answering' });
  await live.getByText(/We have seven/u).waitFor();
  // It comes in pieces: the last one is not said yet.
  expect(await live.innerText()).not.toContain('Thursday.');
  expect(await faultsOf(page)).toEqual([]);
  await page.getByRole('tab', { name: 'Agents' }).waitFor();
  writeFileSync(gate, '');
  await page.getByText('completed in').waitFor();
  await live.waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 the dearest call of a model is found, with its model, tokens, price, messages, and what it asked of a tool', async (context) => {
  if (!isThere) context.skip(absent);
  writeFileSync(gate, '');
  await runInShop(studio, 'letter', 'd1');
  const { page, faults } = await studio.visit('/run?id=d1');
  await page.getByRole('tab', { name: 'Spans' }).click();
  const spans = page.getByRole('list', { name: 'Spans' });
  await expect.poll(() => spans.getByRole('link').count()).toBe(6);
  await page.getByLabel('Order').selectOption('dearest first');
  await spans.getByRole('link').first().getByText('0.16').waitFor();
  expect(await spans.getByRole('link').first().innerText()).toMatch(/48\s000 → 900/u);
  await spans.getByRole('link').first().click();
  const call = page.getByRole('article', { name: 'model' });
  await call.getByText('large-2').waitFor();
  await call.getByText(/48\s900 tokens · cost 0.1575/u).waitFor();
  await call.getByRole('list', { name: 'Conversation' }).getByText('"toaster"').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  // The tool that it called, with arguments and result.
  await page.getByLabel('Order').selectOption('by time');
  await page.getByLabel('Kind').selectOption('tool call');
  await spans.getByRole('link').last().click();
  const tool = page.getByRole('article', { name: 'stock' });
  await tool.getByText('Arguments').waitFor();
  await tool.getByText('"toaster"').first().waitFor();
  await tool.getByText('count').waitFor();
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 one item of 500 is found by its name or because it failed, with why, to the line', async (context) => {
  if (!isThere) context.skip(absent);
  await runInShop(studio, 'stocktake', 's1');
  const { page, faults } = await studio.visit('/run?id=s1');
  const story = page.getByRole('list', { name: 'What happened' });
  await story.getByText(/^\d+ steps, 1 of them failed/u).waitFor();
  await story.getByRole('link', { name: 'show them' }).click();
  const spans = page.getByRole('list', { name: 'Spans' });
  await page.getByLabel('Find by name').fill('sku-123');
  await expect.poll(() => spans.getByRole('link').count()).toBe(1);
  await page.getByLabel('Find by name').fill('');
  await page.getByRole('button', { name: 'failed 1' }).click();
  await spans.getByRole('link', { name: /sku-417/u }).click();
  const item = page.getByRole('article', { name: 'sku-417' });
  await item.getByText('The shelf of sku-417 is empty').waitFor();
  await item.getByText(/graphs\.ts:\d+:\d+/u).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 an experiment is a table of its pairs, by verdict and by cost, with a pair beside its two graphs; and a change is tried on a run without acting', async (context) => {
  if (!isThere) context.skip(absent);
  for (const runId of ['e1', 'e2']) await runInShop(studio, 'order', runId, { amount: 40 });
  const definition = {
    name: 'limits',
    workflow: 'order',
    dataset: { runs: ['e1', 'e2'] },
    undeclared: 'run',
    arms: { same: {}, dear: { set: { 'input.amount': 5_000 } } },
  };
  await studio.call('POST', '/experiments', { definition });
  const { page, faults } = await studio.visit('/');
  await page.getByRole('link', { name: 'Experiments' }).click();
  const card = page.getByRole('region', { name: 'Experiment limits' });
  await card.getByRole('row', { name: /^same.*equal 2/u }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await card.getByRole('link', { name: 'limits' }).click();
  const pairs = page.getByRole('list', { name: 'Pairs' });
  await expect.poll(() => pairs.getByRole('link').count()).toBe(4);
  await page.getByRole('button', { name: 'equal 2' }).click();
  await expect.poll(() => pairs.getByRole('link').count()).toBe(2);
  await page.getByRole('button', { name: 'equal 2' }).click();
  await page.getByLabel('Arm', { exact: true }).selectOption('dear');
  await expect.poll(() => pairs.getByRole('link').count()).toBe(2);
  expect(await faultsOf(page)).toEqual([]);
  await pairs.getByRole('link').first().click();
  const state = page.getByRole('region', { name: 'State and outputs' });
  await state.getByRole('row', { name: /^input\.amount/u }).waitFor();
  for (const name of ['First run', 'Second run'])
    await page.getByRole('region', { name }).getByRole('group', { name: 'Graph of 3 nodes' }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  // On any run, at once: what it would do is seen, and nothing acts.
  await page.goto(`${studio.url}/run?id=e1`);
  await page.getByRole('link', { name: 'Try a change' }).click();
  const beside = page.getByRole('region', { name: 'What would happen' });
  await page.getByLabel('amount').fill('5');
  await beside.getByText('1 changed').waitFor();
  expect(await beside.getByLabel(/^It cannot act/u).isChecked()).toBe(true);
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 questions that show the same are selected one by one and answered alike, each by itself; others cannot be selected with them', async (context) => {
  if (!isThere) context.skip(absent);
  for (const runId of ['a1', 'a2', 'a3']) await runInShop(studio, 'parcel', runId);
  await runInShop(studio, 'upkeep', 'a4');
  await runInShop(studio, 'upkeep', 'a5');
  const { page, faults } = await studio.visit('/inbox');
  const select = (runId: string) => page.getByLabel(`Select the question of ${runId}`);
  await select('a4').waitFor();
  await select('a1').check();
  // What shows something else is not selected with it.
  await select('a4').waitFor({ state: 'detached' });
  await select('a2').check();
  const alike = page.getByRole('region', { name: 'Answer alike' });
  await alike.getByText('Answer 2 questions alike').waitFor();
  expect(await faultsOf(page)).toEqual([]);
  // One was answered by somebody else meanwhile: that is said, and the other stands.
  await studio.call('POST', '/runs/a2/answer', { value: 'no' });
  await alike.getByRole('button', { name: 'yes', exact: true }).click();
  await alike.getByText('1 of 2 answered: yes').waitFor();
  await alike.getByText(/^a2: /u).waitFor();
  await alike.getByRole('button', { name: 'Close' }).click();
  const outputs = async (runId: string): Promise<unknown> =>
    ((await studio.call('GET', `/runs/${runId}`)) as { state: { outputs: unknown } }).state.outputs;
  await expect.poll(() => outputs('a1')).toEqual({ ask: 'yes' });
  await expect.poll(() => outputs('a2')).toEqual({ ask: 'no' });
  expect(await outputs('a3')).toEqual({});
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 a run is known by its title, in the list and on its page', async (context) => {
  if (!isThere) context.skip(absent);
  await runInShop(studio, 'note', 'n1', { who: 'Ann Berg' });
  const { page, faults } = await studio.visit('/?q=n1');
  await page
    .getByRole('list', { name: 'Runs' })
    .getByRole('link', { name: /^Note for Ann Berg.*completed/u })
    .click();
  await page.getByRole('heading', { name: 'Note for Ann Berg' }).waitFor();
  await page.getByText('n1', { exact: true }).waitFor();
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 a schedule is seen with its next time, paused and resumed', async (context) => {
  if (!isThere) context.skip(absent);
  const add = ['schedule', 'add', 'workflows/report.yaml', '--cron', '0 7 * * *', '--name', 'report'];
  execFileSync(process.execPath, [builtMain, ...add, '--config', studio.config], {
    cwd: studio.folder,
    env: { ...process.env, CAIRN_STORE: studio.store },
  });
  const { page, faults } = await studio.visit('/');
  await page.getByRole('link', { name: 'Schedules' }).click();
  const card = page.getByRole('article', { name: 'Schedule report' });
  await card.getByText(/^next in/u).waitFor();
  await card.getByText('0 7 * * * UTC').waitFor();
  await card.getByRole('button', { name: 'Pause', exact: true }).click();
  await card.getByText(/^paused since/u).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  await card.getByRole('button', { name: 'Resume', exact: true }).click();
  await card.getByText(/^next in/u).waitFor();
  expect(faults).toEqual([]);
  await page.close();
}, 240_000);

test('P6 a node whose name is longer than its box is spoken as it is seen, and then whole', async (context) => {
  if (!isThere) context.skip(absent);
  await runInShop(studio, 'long', 'long-name');
  const { page, faults } = await studio.visit('/run?id=long-name');
  const name = /^a_block_whose_n\w*…, a_block_whose_name_is_longer_than_its_box, completed/u;
  await page.getByRole('link', { name }).waitFor();
  expect(await faultsOf(page)).toEqual([]);
  expect(faults).toEqual([]);
});
