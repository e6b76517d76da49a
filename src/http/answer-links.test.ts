/** Answer links: one question, one person, one answer (W10). */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openApp, type App } from '../app/open-app.ts';
import type { OpenQuestion } from '../engine/api.ts';
import { maskWellKnown } from '../state/secrecy/well-known.ts';
import { createAnswerLinks, type AnswerLinks } from './answer-links.ts';
import { createHandler, type Handler } from './handler.ts';

const secret = 'a secret of more than thirty-two characters';
let cwd = '';
let app: App;
let handler: Handler;
let links: AnswerLinks;

beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'cairn-links-'));
  mkdirSync(join(cwd, 'workflows'));
  writeFileSync(
    join(cwd, 'workflows/pay.yaml'),
    `name: pay
blocks:
  - { id: first, type: ConfirmOperation, inputs: { message: "Pay <b>40</b>?", operation: pay, assignees: [ann] } }
  - { id: second, type: Prompt, depends_on: [first], inputs: { prompt: "Sure?", four_eyes: first } }
`,
  );
  app = await openApp({ cwd, storeUrl: 'runs.db' });
  links = createAnswerLinks({ secret, url: 'http://localhost' });
  handler = createHandler({ app, authorize: () => undefined, answerLinks: links });
  const { graph } = await app.loadGraph('pay');
  await (await app.engine.start(graph, {}, { runId: 'r' })).result();
});
afterEach(async () => {
  handler.close();
  await app.close();
  rmSync(cwd, { recursive: true, force: true });
});

const question = async (): Promise<OpenQuestion> => (await app.engine.waits('r'))[0] as OpenQuestion;
const look = (link: string, method = 'GET'): Promise<Response> => handler(new Request(link, { method }));
const answer = (link: string, value: string): Promise<Response> =>
  handler(
    new Request(link, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost' },
      body: new URLSearchParams({ value }),
    }),
  );
const ended = async (): Promise<string> => (await (await app.engine.resume('r')).result()).status;

test('W10.1 who opens a link sees its question, without a script or markup of it, and answers nothing by that', async () => {
  const link = links.linkFor(await question(), { by: 'ann' });
  for (const method of ['GET', 'HEAD', 'GET']) expect((await look(link, method)).status).toBe(200);
  const response = await look(link);
  const html = await response.text();
  expect(html).toContain('Pay &lt;b&gt;40&lt;/b&gt;?');
  expect(html).toContain('<button name="value" value="yes">yes</button>');
  expect(html).not.toMatch(/<script|<b>/);
  const policy = response.headers.get('content-security-policy');
  expect(policy).toMatch(/^default-src 'none'.*form-action 'self'; frame-ancestors 'none'/);
  expect([response.headers.get('cache-control'), response.headers.get('referrer-policy')]).toEqual([
    'no-store',
    'no-referrer',
  ]);
  expect(await app.store.readMessages({ tenant: 'default', runId: 'r' })).toEqual([]);
});

test('W10.2 a POST answers as its person, by the door link, once; the token is nowhere in the store, its hash is', async () => {
  const asked = await question();
  const link = links.linkFor(asked, { by: 'ann' });
  expect(await (await answer(link, 'yes')).text()).toContain('Recorded: <strong>&quot;yes&quot;</strong>');
  expect((await answer(link, 'no')).status).toBe(410);
  await ended();
  expect((await look(link)).status).toBe(410);
  const parts = [];
  for await (const { change } of app.engine.history.log('r')) parts.push(...change);
  const part = parts.find(({ kind }) => kind === 'answer');
  expect(part).toMatchObject({ by: 'ann', door: 'link', link: expect.stringMatching(/^[\w-]{43}$/) as unknown });
  const token = link.split('/').at(-1) ?? '';
  expect(JSON.stringify(parts)).not.toContain(token.slice(0, 40));
  // A question that is opened again is not answered by the link that answered it before.
  await expect(
    app.engine.answer('r', (await question()).waitId, 'x', {
      by: 'bob',
      ...(part?.link !== undefined && { link: part.link }),
    }),
  ).rejects.toMatchObject({ code: 'WAIT_CLOSED' });
});

test('W10.3 the rules of a question hold for who answers by a link', async () => {
  const first = await question();
  const refused = await answer(links.linkFor(first, { by: 'eve' }), 'yes');
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining('it is for ann')]);
  await answer(links.linkFor(first, { by: 'ann' }), 'yes');
  await ended();
  const second = await question();
  expect((await answer(links.linkFor(second, { by: 'ann' }), 'yes')).status).toBe(422);
  expect((await answer(links.linkFor(second, { by: 'bob' }), 'yes')).status).toBe(200);
  expect(await ended()).toBe('completed');
});

test('W10.4 a link is bound to its question, its words, its time and its signature', async () => {
  const asked = await question();
  const good = links.linkFor(asked, { by: 'ann' });
  const [last = ''] = good.slice(-1);
  const others = createAnswerLinks({ secret: `${secret}!`, url: 'http://localhost' });
  const refused: readonly (readonly [string, number])[] = [
    [links.linkFor({ ...asked, prompt: 'Pay 4000?' }, { by: 'ann' }), 410],
    [links.linkFor({ ...asked, waitId: 'w_other' }, { by: 'ann' }), 410],
    [links.linkFor(asked, { by: 'ann', validMs: 0 }), 410],
    [others.linkFor(asked, { by: 'ann' }), 404],
    [`${good.slice(0, -1)}${last === 'A' ? 'B' : 'A'}`, 404],
    ['http://localhost/answer/nothing', 404],
  ];
  for (const [link, status] of refused) {
    expect((await look(link)).status).toBe(status);
    expect((await answer(link, 'yes')).status).toBe(status);
  }
  expect(await app.store.readMessages({ tenant: 'default', runId: 'r' })).toEqual([]);
  expect(() => createAnswerLinks({ secret: 'short', url: 'http://localhost' })).toThrow('fewer than 32 characters');
});

test('W10.5 texts that are shown mask links', async () => {
  const link = links.linkFor(await question(), { by: 'ann' });
  expect(maskWellKnown(`mailed ${link} to ann`)).toBe('mailed http://localhost/answer/[redacted] to ann');
});
