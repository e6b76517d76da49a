/** The app in two processes over one store: started in one, which is killed, answered and paid in the other, and the guide shows its code. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createClient } from '../../src/http/index.ts';
import { isSigned } from './webhook.ts';

const here = import.meta.dirname;
const token = 'token-of-ann-0123456789';
const secret = 'whsec_test';
let folder = '';
const started: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-web-app-'));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map(kill));
  rmSync(folder, { recursive: true, force: true });
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

/** Starts the app in a process. @returns its address */
async function start(kind: string): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const child = spawn(process.execPath, [join(here, 'server.ts'), kind, '0'], {
    cwd: folder,
    env: { ...process.env, TOKEN: token, WEBHOOK_SECRET: secret, RUNS: join(folder, 'runs.db') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (line: Buffer) => resolve(line.toString().trim()));
    child.once('exit', (code) => reject(new Error(`the app ended with ${code}`)));
  });
  return { url, child };
}

const signed = (body: string, at: number): string =>
  `t=${at},v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`;

test.each(['hono', 'express'])(
  'in %s, a run that one process started and left is followed, approved and paid in another, and ends',
  async (kind) => {
    const [one, other] = await Promise.all([start(kind), start(kind)]);
    const first = createClient(`${one.url}/cairn`, token, { waitSeconds: 20 });
    const second = createClient(`${other.url}/cairn`, token);
    expect(await first.run({ file: 'support', runId: 'r', input: { prompt: 'Refund A-17.' } })).toMatchObject({
      result: { status: 'paused', waits: [{ isApproval: true }] },
    });
    await kill(one.child);
    await second.answer({ run: 'r', value: 'approve' });
    const pay = async (header: (body: string) => string): Promise<number> => {
      const body = JSON.stringify({ id: 'evt_1', data: { object: { amount: 40, metadata: { run: 'r' } } } });
      const headers = { 'content-type': 'application/json', 'stripe-signature': header(body) };
      return (await fetch(`${other.url}/webhooks/payments`, { method: 'POST', headers, body })).status;
    };
    const now = Math.floor(Date.now() / 1000);
    expect(await pay(() => `t=${now},v1=${'0'.repeat(64)}`)).toBe(400);
    expect(await pay((body) => signed(body, now))).toBe(200);
    const cursors: string[] = [];
    for await (const event of second.follow('r')) if (event.type === 'checkpoint') cursors.push(event.cursor);
    expect(new Set(cursors).size).toBe(cursors.length);
    expect(await second.inspect({ run: 'r' })).toMatchObject({
      status: 'completed',
      state: { outputs: { clerk: 'Your order A-17 is paid back.', arrived: { amount: 40 } } },
    });
    expect((await fetch(`${other.url}/cairn/v1/runs`)).status).toBe(401);
  },
  120_000,
);

test.each(['hono', 'express'])(
  'in %s, the clerk is chatted with: what it does for its customer waits for staff, and is told when they have approved',
  async (kind) => {
    const { url } = await start(kind);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Refund A-17.' }] };
    const body = JSON.stringify({ id: 'c1', messages: [message] });
    const said = await (await fetch(`${url}/cairn/chat`, { method: 'POST', headers, body })).text();
    expect(said).toContain('"waits":[{"audience":"staff","toolCallId":"1:1:1"}]');
    expect(said.trimEnd().endsWith('data: [DONE]')).toBe(true);
    const client = createClient(`${url}/cairn`, token, { waitSeconds: 20 });
    const { runs } = await client.listRuns();
    await client.answer({ run: runs[0]?.runId ?? '', value: 'approve' });
    await client.resume({ run: runs[0]?.runId ?? '' });
    const chat = await (await fetch(`${url}/cairn/chat/c1`, { headers })).text();
    expect(chat).toContain('Your order A-17 is paid back.');
  },
  120_000,
);

test('a webhook is taken only with its own signature, and only for five minutes', () => {
  expect(isSigned('{}', signed('{}', 1000), secret, 1100)).toBe(true);
  expect(isSigned('{ }', signed('{}', 1000), secret, 1100)).toBe(false);
  expect(isSigned('{}', signed('{}', 1000), 'other', 1100)).toBe(false);
  expect(isSigned('{}', signed('{}', 1000), secret, 1301)).toBe(false);
  expect(isSigned('{}', 'odd', secret, 1000)).toBe(false);
});

test.each([
  ['hono.md', ['agent.ts', 'webhook.ts', 'hono.ts']],
  ['express.md', ['express.ts']],
])('the guide %s shows the files of the app as they are', (guide, files) => {
  const text = readFileSync(join(here, '../../docs/guide', guide), 'utf8');
  for (const file of files) {
    const code = readFileSync(join(here, file), 'utf8')
      .replace(/^\/\*\*.*\n/u, '')
      .replaceAll(
        /'\.\.\/\.\.\/src\/(?:index|stores\/(\w+)\/index|(\w+)\/index)\.ts'/gu,
        (_, store: string, door: string) =>
          store !== undefined
            ? `'cairn-workflows/stores/${store}'`
            : door === undefined
              ? "'cairn-workflows'"
              : `'cairn-workflows/${door}'`,
      );
    expect(text).toContain(code);
  }
});
