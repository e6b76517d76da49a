/** The rules of a question hold at every door, under what the door knows of its callers (W8). */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openApp, type App } from '../src/app/open-app.ts';
import { bearerTokens } from '../src/http/authorize.ts';
import { createHandler, type Handler } from '../src/http/handler.ts';
import { showQuestion } from '../src/mcp/ask/ask-client.ts';
import type { OpenQuestion } from '../src/operations/waits/find-wait.ts';

const people = ['ann', 'bob', 'eve'] as const;
const tokenOf = (name: string): string => `the-token-of-${name}-0123`;
const roles: Readonly<Record<string, readonly string[]>> = { ann: ['finance'], bob: ['audit'] };
const scopes = ['read', 'run', 'answer', 'fork', 'admin'] as const;

let cwd = '';
let app: App;
let handler: Handler;

const files: Readonly<Record<string, string>> = {
  'pay.yaml': `name: pay
blocks:
  - { id: finance, type: Prompt, inputs: { prompt: "Right?", assignees: [role:finance] } }
  - { id: director, type: Prompt, depends_on: [finance], inputs: { prompt: "Pay?", four_eyes: finance } }
`,
  'ship.dot': `digraph ship {
  start [shape=Mdiamond]; end [shape=Msquare]
  one [shape=hexagon, label="Ship?", assignees="role:finance, eve"]
  two [shape=hexagon, label="Sure?", four_eyes=one]
  start -> one; one -> two [label=Yes]; two -> end [label=Yes]
}
`,
};

beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'cairn-eyes-'));
  mkdirSync(join(cwd, 'workflows'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, 'workflows', name), text);
  app = await openApp({ cwd, storeUrl: 'runs.db' });
  const tokens = people.map((principal) => ({
    token: tokenOf(principal),
    principal,
    kind: 'person' as const,
    scopes,
    ...(roles[principal] && { roles: roles[principal] }),
  }));
  const bot = { token: tokenOf('bot'), principal: 'bot', kind: 'program', scopes, roles: ['finance'] } as const;
  handler = createHandler({ app, authorize: bearerTokens([...tokens, bot]) });
});
afterEach(async () => {
  handler.close();
  await app.close();
  rmSync(cwd, { recursive: true, force: true });
});

type Json = Readonly<Record<string, unknown>>;

async function call(who: string, path: string, body?: Json): Promise<Json & { readonly status?: unknown }> {
  const headers = { authorization: `Bearer ${tokenOf(who)}`, prefer: 'wait=30', 'content-type': 'application/json' };
  const request = new Request(`http://localhost/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return (await (await handler(request)).json()) as Json;
}

const start = async (workflow: string, runId: string): Promise<void> =>
  void (await call('eve', '/runs', { workflow, runId }));
const answer = (who: string, run: string, wait: string, more: Json = {}): Promise<Json> =>
  call(who, `/runs/${run}/answer`, { wait, value: 'Yes', ...more });
const nodesOf = async (who: string, query = ''): Promise<readonly unknown[]> =>
  ((await call(who, `/waits${query}`))['waits'] as readonly OpenQuestion[]).map(({ node }) => node.join('/'));

test.each([
  ['YAML', 'pay', 'finance', 'director'],
  ['DOT', 'ship', 'one', 'two'],
])('W8.1 over HTTP roles are those of the token, in %s', async (_, workflow, first, second) => {
  await start(workflow, 'r');
  expect([await nodesOf('ann'), await nodesOf('bob')]).toEqual([[first], []]);
  expect(await nodesOf('bob', '?everybodys=true')).toEqual([first]);
  const refused = await answer('bob', 'r', first);
  expect(refused).toMatchObject({ status: 403, code: 'ANSWER_RESERVED' });
  expect(JSON.stringify(refused)).toContain('it is for the role finance');
  // What a body says of the caller is refused, or counts for nothing.
  for (const more of [{ roles: ['finance'] }, { by: 'ann' }, { as: 'owner' }])
    expect(await answer('bob', 'r', first, more)).toMatchObject({ status: 400 });
  expect(await answer('ann', 'r', first)).toMatchObject({ runId: 'r' });
  await call('ann', '/runs/r/resume', {});
  for (const who of ['ann', 'eve', 'bot'])
    expect(await answer(who, 'r', second)).toMatchObject({ status: 403, code: 'ANSWER_RESERVED' });
  expect(await answer('bob', 'r', second)).toMatchObject({ runId: 'r' });
  expect(await call('bob', '/runs/r/resume', {})).toMatchObject({ status: 'completed' });
  const log = JSON.stringify(await call('ann', '/runs/r/checkpoints?limit=200'));
  expect(log).toContain('"by":"bob","door":"http"');
});

test('W8.4 over HTTP a fork is held to what its maker may answer', async () => {
  await start('pay', 'r');
  await answer('ann', 'r', 'finance');
  await call('ann', '/runs/r/resume', {});
  for (const change of [{ answer: { finance: 'no' } }, { set: { 'outputs.finance': { response: 'no' } } }])
    expect(await call('bob', '/checkpoints/r/forks', change)).toMatchObject({ status: 403, code: 'ANSWER_RESERVED' });
  const set = { 'outputs.director': { response: 'Yes' } };
  expect(await call('bob', '/checkpoints/r/forks', { set })).toMatchObject({ status: 403, code: 'ANSWER_RESERVED' });
  expect(await call('ann', '/checkpoints/r/forks', { answer: { finance: 'no' }, runId: 'f' })).toMatchObject({
    fork: { runId: 'f' },
  });
  await call('bob', '/runs/f/resume', {});
  expect(await answer('ann', 'f', 'director')).toMatchObject({ status: 403, code: 'ANSWER_RESERVED' });
  expect(await answer('bob', 'f', 'director')).toMatchObject({ runId: 'f' });
});

test('W8.6 MCP shows whose a question is, in place of a way to answer it', async () => {
  await start('pay', 'r');
  const [wait] = await app.engine.waits('r');
  const shown = showQuestion(wait as OpenQuestion, { actor: 'model', acting: { door: 'mcp', as: 'program' } });
  expect(shown['message']).toBe('It is for others: the role finance. They answer it where it is known who they are.');
});

test('W8.1 whoever is at a store of this machine acts as its owner, and four eyes need two names of him too', async () => {
  await start('pay', 'r');
  const own = await openApp({ cwd, storeUrl: 'runs.db', door: 'cli' });
  try {
    expect(own.acting).toEqual({ door: 'cli', as: 'owner' });
    const { engine, acting } = own;
    const idOf = async (id: string): Promise<string> =>
      (await engine.waits('r')).find(({ node: [asking] }) => asking === id)?.waitId ?? '';
    await engine.answer('r', await idOf('finance'), 'Yes', { ...acting, by: 'dan', stays: true });
    await call('ann', '/runs/r/resume', {});
    const director = await idOf('director');
    for (const by of [undefined, 'dan'])
      await expect(
        engine.answer('r', director, 'Yes', { ...acting, ...(by !== undefined && { by }), stays: true }),
      ).rejects.toMatchObject({ code: 'ANSWER_RESERVED' });
    await engine.answer('r', director, 'Yes', { ...acting, by: 'cleo', stays: true });
    await call('ann', '/runs/r/resume', {});
    expect(JSON.stringify(await call('ann', '/runs/r/checkpoints?limit=200'))).toContain(
      '"by":"cleo","door":"cli","as":"owner"',
    );
  } finally {
    await own.close();
  }
});
