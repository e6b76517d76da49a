/**
 * The app of the guide's page about Next, made from its blocks, built and started: chatted with by the AI SDK's client, killed in the middle
 * of an answer, started again. It needs packages from npm, which are installed once into a folder for temporary files; `npm run prove` does it.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createHmac } from 'node:crypto';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHistory } from '../../src/app/open-store/open-history.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { installPackage } from '../support/installed-package.ts';
import { isProving } from '../support/scale.ts';
import { NodeChat, openPage, shownOf } from './chat-kit.ts';

const folder = join(tmpdir(), 'cairn-next-16');
const packages = [
  'next@16',
  'react@19',
  'react-dom@19',
  'ai@7',
  '@ai-sdk/react@4',
  'zod@4',
  'typescript@5',
  '@types/react@19',
  '@types/node@24',
];
const page = readFileSync(join(import.meta.dirname, '../../docs/guide/next.md'), 'utf8');
const started: ChildProcess[] = [];
const secret = 'whsec_test';
const hostToken = 'token-of-the-cron-job-0123456789';

// npm chooses packages by the Node that runs it.
const env = {
  ...process.env,
  NEXT_TELEMETRY_DISABLED: '1',
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
};

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], env });

/** Writes the files of the page: each block that begins with its path. */
function writeApp(): readonly string[] {
  const files = [...page.matchAll(/^```tsx?\n\/\/ (\S+)\n(.*?)^```$/gmsu)];
  for (const [, path = '', code = ''] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), code);
  }
  return files.map(([, path = '']) => path);
}

interface Served {
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly kill: () => Promise<void>;
}

async function serve(mode: 'start' | 'dev' = 'start'): Promise<Served> {
  const child = spawn(process.execPath, ['node_modules/next/dist/bin/next', mode, '-p', '0', '-H', '127.0.0.1'], {
    cwd: folder,
    // Next starts others: all of them are one group.
    detached: true,
    env: { ...env, RUNS: join(folder, 'runs.db'), WEBHOOK_SECRET: secret, HOST_TOKEN: hostToken },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stdout?.on('data', (piece: Buffer) => {
      said += piece.toString();
      const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
      if (found !== undefined && said.includes('Ready')) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`next start ended with ${code}: ${said}`)));
  });
  return {
    url,
    fetch: ((path: string, init?: RequestInit) =>
      fetch(path.replace('http://localhost', `${url}/api`), init)) as typeof fetch,
    kill: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      killGroup(child);
      await ended;
    },
  };
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
}

const textOf = (chat: NodeChat): string =>
  (shownOf(chat).at(-1)?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');

async function when(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}

beforeAll(() => {
  if (!isProving) return;
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, 'package.json')))
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  if (!existsSync(join(folder, 'node_modules/@types/react')))
    run('npm', 'install', '--no-audit', '--no-fund', ...packages);
  const installed = installPackage();
  const home = join(folder, 'node_modules/cairn-workflows');
  rmSync(home, { recursive: true, force: true });
  cpSync(installed.home, home, { recursive: true, dereference: true });
  installed.remove();
  for (const name of ['app', 'lib', '.next', 'runs.db', 'runs.db-wal', 'runs.db-shm', 'runs.db-live', 'runs.blobs'])
    rmSync(join(folder, name), { recursive: true, force: true });
  writeApp();
  run(process.execPath, 'node_modules/next/dist/bin/next', 'build');
}, 900_000);

afterAll(() => {
  for (const child of started) killGroup(child);
});

test('the page of the guide about Next has a whole app', () => {
  const paths = [...page.matchAll(/^```tsx?\n\/\/ (\S+)\n/gmu)].map(([, path]) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      'next.config.ts',
      'lib/agent.ts',
      'app/api/[...path]/route.ts',
      'instrumentation.ts',
      'app/host/[...path]/route.ts',
      'app/webhooks/payments/route.ts',
      'app/page.tsx',
      'app/layout.tsx',
    ]),
  );
});

test.skipIf(!isProving)(
  'CH2 CH3 the app of the page streams, asks, goes on after a reload, and loses nothing when its server is killed in the middle of an answer (it needs packages from npm: npm run prove)',
  async () => {
    const first = await serve();
    const chat = new NodeChat('c', first.fetch);
    await chat.sendMessage({ text: 'Cancel my order' });
    const reloaded = await openPage('c', first.fetch);
    const call = reloaded.messages.at(-1)?.parts.find(({ type }) => type === 'tool-cancelOrder');
    expect(call).toMatchObject({ state: 'approval-requested', input: { order: 'A-17' } });
    await reloaded.addToolApprovalResponse({ id: (call as { approval: { id: string } }).approval.id, approved: true });
    await when(() => textOf(reloaded) === 'It is done.' && reloaded.status === 'ready');
    const answered = reloaded.sendMessage({ text: 'tell me a story of some length, please' });
    await when(() => textOf(reloaded).startsWith('You said: tell'));
    const seen = textOf(reloaded);
    await first.kill();
    await answered.catch(() => undefined);
    const second = await serve();
    const page = await openPage('c', second.fetch);
    await page.resumeStream();
    const whole = 'You said: tell me a story of some length, please';
    await when(() => page.status !== 'streaming' && page.status !== 'submitted');
    // The worker may not have taken the run up yet: its lease has to run out first.
    for (let tries = 0; tries < 300 && textOf(page) !== whole; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      await page.resumeStream();
    }
    expect(whole.startsWith(seen)).toBe(true);
    expect(textOf(page)).toBe(whole);
    const again = shownOf(await openPage('c', second.fetch));
    expect(again.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(again.filter(({ role }) => role === 'assistant')).toEqual(
      shownOf(page).filter(({ role }) => role === 'assistant'),
    );
    await second.kill();
  },
  300_000,
);

test.skipIf(!isProving)(
  'in the app of the page, a signed webhook becomes a signal once, and a cron job may sweep (it needs packages from npm: npm run prove)',
  async () => {
    const { url, fetch: api, kill } = await serve();
    const chat = new NodeChat('paid', api);
    await chat.sendMessage({ text: 'hello' });
    const store = openSqliteStore({ path: join(folder, 'runs.db') });
    const history = openHistory(store);
    let runId = '';
    for await (const run of history.list()) runId ||= run.runId;
    const body = JSON.stringify({ id: 'evt_1', data: { object: { amount: 40, metadata: { run: runId } } } });
    const pay = async (key: string): Promise<number> => {
      const at = Math.floor(Date.now() / 1000);
      const signature = createHmac('sha256', key).update(`${at}.${body}`).digest('hex');
      const headers = { 'content-type': 'application/json', 'stripe-signature': `t=${at},v1=${signature}` };
      return (await fetch(`${url}/webhooks/payments`, { method: 'POST', headers, body })).status;
    };
    expect([await pay('another secret'), await pay(secret), await pay(secret)]).toEqual([400, 200, 200]);
    const sweep = async (token: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      return (await fetch(`${url}/host/sweep`, { method: 'POST', headers, body: '{}' })).status;
    };
    expect([await sweep('wrong'), await sweep(hostToken)]).toEqual([401, 200]);
    const signals = async (): Promise<number> => {
      let count = 0;
      for await (const { change } of history.log(runId))
        count += change.filter(({ kind, detail }) => kind === 'signal' && detail === 'paid').length;
      return count;
    };
    for (let tries = 0; tries < 300 && (await signals()) === 0; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await signals()).toBe(1);
    await store.close();
    await kill();
  },
  300_000,
);

test.skipIf(!isProving)(
  'in development, one engine outlives the reloads of its module (it needs packages from npm: npm run prove)',
  async () => {
    const file = join(folder, 'lib/agent.ts');
    const code = readFileSync(file, 'utf8');
    const linesOf = (name: string): readonly string[] =>
      existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8').trim().split('\n') : [];
    for (const name of ['opens', 'loads']) rmSync(join(folder, name), { force: true });
    // The module says when it is loaded and when it opens the store, and greets by its version.
    const write = (version: number): void => {
      const counted = code
        .replace('openSqliteStore({', "(appendFileSync('opens', `${process.pid}\\n`), openSqliteStore)({")
        .replace("role: 'user', content: (state", `role: 'user', content: 'v${version} ' + (state`);
      const first = "import { appendFileSync } from 'node:fs';\nappendFileSync('loads', `${process.pid}\\n`);\n";
      writeFileSync(file, first + counted);
    };
    write(1);
    const { fetch: api, kill } = await serve('dev');
    const said = async (id: string): Promise<string> => {
      const chat = new NodeChat(id, api);
      await chat.sendMessage({ text: 'hello' });
      return textOf(chat);
    };
    expect(await said('dev-0')).toBe('You said: v1 hello');
    write(2);
    let last = '';
    for (let nth = 1; nth < 60 && last !== 'You said: v2 hello'; nth += 1) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      last = await said(`dev-${nth}`);
    }
    expect(last).toBe('You said: v2 hello');
    // Next has other processes that load modules to look at them.
    const loads = Map.groupBy(linesOf('loads'), (pid) => pid);
    expect([...loads.values()].some((of) => of.length > 1)).toBe(true);
    expect(new Set(linesOf('opens')).size).toBe(linesOf('opens').length);
    await kill();
  },
  300_000,
);
