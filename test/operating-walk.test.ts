/**
 * A walk of whoever operates a deployment and has the kit alone: the commands of its compose file over a store, and four things go wrong. What
 * the log says, what the metrics say and what the studio is told are each asked by themselves.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chromium } from 'playwright-core';
import { parse } from 'yaml';
import { until } from './support/awaited.ts';
import { builtMain, useBuiltDoors } from './support/built-package.ts';
import { findChromium } from './support/chromium.ts';
import { readSamples } from './support/prometheus-text.ts';
import { isProving } from './support/scale.ts';
import { endProcess, findFreePort } from './support/server-process.ts';
import { absent } from './support/studio.ts';

const root = join(import.meta.dirname, '..');
const timeoutMs = 120_000;

/** What a team deploys. Line 7 is where its card service refuses. */
const flows = `import { AgentGraph, END, START, functionNode } from ${JSON.stringify(pathToFileURL(join(root, 'src/index.ts')).href)};
const only = (id, work) =>
  new AgentGraph({}, { id }).addNode('work', functionNode(work)).addEdge(START, 'work').addEdge('work', END).compile();

function refuse() {
  // The card service of a bad day.
  throw new Error('card refused');
}
export const pay = only('pay', () => refuse());
export const healthy = only('healthy', () => 'fine');
export const report = only('report', () => {
  const until = Date.now() + 2_500;
  while (Date.now() < until);
});
export const scan = only('scan', () => process.kill(process.pid, 'SIGKILL'));
`;

const approval = `name: refund
blocks:
  - { id: finance, type: Prompt, inputs: { prompt: "Pay back?", assignees: ["role:finance"] } }
  - { id: director, type: Prompt, depends_on: [finance], inputs: { prompt: "Really?", four_eyes: finance } }
`;

const tokens = ['ann', 'bob', 'eve'].map((principal) => ({
  token: `token-of-${principal}-0123456789abcdef`,
  principal,
  kind: 'person',
  roles: ['finance'],
  scopes: ['read', 'run', 'answer'],
}));

/** A process of the kit, started again whenever it has died. */
class Service {
  log = '';
  #process: ChildProcess | undefined;
  #isOver = false;
  readonly #args: readonly string[];
  readonly #cwd: string;

  constructor(cwd: string, words: readonly string[]) {
    this.#cwd = cwd;
    this.#args = ['--import', useBuiltDoors, builtMain, ...words];
    this.#start();
  }

  #start(): void {
    const child = spawn(process.execPath, this.#args, { cwd: this.#cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (this.log += chunk.toString()));
    child.once('exit', () => {
      if (!this.#isOver) this.#start();
    });
  }

  /** The events of its log, a line of JSON each. */
  get events(): readonly Readonly<Record<string, unknown>>[] {
    return this.log
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    if (this.#process !== undefined) await endProcess(this.#process, 'SIGKILL');
  }
}

const services: Service[] = [];
let cwd = '';
let serverPort = 0;
let workerPorts: readonly number[] = [];
let workers: readonly Service[] = [];

/** The command of a service of the kit, at ports of this machine. */
function commandOf(name: 'worker' | 'server', ports: Readonly<Record<string, number>>): readonly string[] {
  const file = parse(readFileSync(join(root, 'deploy/compose.yaml'), 'utf8')) as {
    services: Record<string, { command: readonly string[] }>;
  };
  const words = file.services[name]?.command ?? [];
  return words.map((word) =>
    word
      .replace(/0\.0\.0\.0:(\d+)/u, (_, port: string) => `127.0.0.1:${ports[port]}`)
      .replace('/run/secrets/tokens', join(cwd, 'tokens.json')),
  );
}

async function call(who: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${serverPort}/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer token-of-${who}-0123456789abcdef`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { httpStatus: response.status, ...((await response.json()) as object) };
}

async function start(name: string, runId: string): Promise<void> {
  const answer = await call('eve', '/runs', { workflow: name, runId });
  expect(answer).toMatchObject({ runId });
}

const statusIs = (runId: string, ...statuses: readonly string[]): Promise<unknown> =>
  until(
    `${runId} is ${statuses.join(' or ')}`,
    async () => statuses.includes(String((await call('eve', `/runs/${runId}`))['status'])),
    200,
  );

/** What all workers log, and the sum of a series over them. */
const events = (): readonly Readonly<Record<string, unknown>>[] => workers.flatMap((worker) => worker.events);
async function metric(series: string): Promise<number> {
  const values = workerPorts.map(async (port) => {
    const text = await fetch(`http://127.0.0.1:${port}/metrics`).then(
      (response) => response.text(),
      () => '\n',
    );
    return readSamples(text).get(series) ?? 0;
  });
  return (await Promise.all(values)).reduce((sum, value) => sum + value, 0);
}

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'cairn-operating-'));
  writeFileSync(join(cwd, 'flows.ts'), flows);
  mkdirSync(join(cwd, 'workflows'));
  writeFileSync(join(cwd, 'workflows/refund.yaml'), approval);
  writeFileSync(join(cwd, 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 });
  writeFileSync(join(cwd, 'cairn.config.json'), JSON.stringify({ store: 'sqlite:runs.db', modules: ['flows.ts'] }));
  const [http = 0, health = 0, ...more] = await Promise.all(Array.from({ length: 4 }, findFreePort));
  serverPort = http;
  workerPorts = more;
  services.push(new Service(cwd, commandOf('server', { 4310: http, 8081: health })));
  workers = more.map((port) => new Service(cwd, commandOf('worker', { 8081: port })));
  services.push(...workers);
  const isReady = (port: number): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until('all are ready', async () => (await Promise.all([health, ...more].map(isReady))).every(Boolean), 100);
}, timeoutMs);
afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  rmSync(cwd, { recursive: true, force: true });
});

describe('E10 W8 whoever has the kit alone finds', { timeout: timeoutMs }, () => {
  test('which run failed, in which line of which node, on which worker', async () => {
    await start('pay', 'order-7');
    await statusIs('order-7', 'failed');
    const [told, ...others] = await until(
      'it is logged',
      () => {
        const found = events().filter(({ event }) => event === 'failed');
        return found.length > 0 && found;
      },
      50,
    );
    expect(others).toEqual([]);
    expect(told).toMatchObject({
      level: 50,
      run: 'order-7',
      graph: 'pay',
      node: 'work',
      err: { message: 'card refused' },
    });
    expect(told?.['msg']).toMatch(/^work: card refused at refuse \(.*flows\.ts:7:9\)$/u);
    expect(told?.['worker']).toMatch(/\S/u);

    // The metrics say which graph fails, and how often.
    expect(await metric('cairn_runs_ended_total{graph="pay",status="failed"}')).toBe(1);

    const shown = await call('eve', '/runs/order-7');
    expect(shown['failures']).toMatchObject([
      {
        node: ['work'],
        message: 'card refused',
        worker: told?.['worker'],
        stack: [expect.stringMatching(/flows\.ts:7:9/u), expect.anything()],
      },
    ]);
    const { runs } = await call('eve', '/runs?status=failed');
    expect(runs).toMatchObject([{ runId: 'order-7' }]);
  });

  test('why throughput fell: a node that holds the event loop', async () => {
    await start('report', 'report-1');
    await statusIs('report-1', 'completed');
    const told = await until('it is logged', () => events().find(({ event }) => event === 'loop-blocked'), 50);
    expect(told).toMatchObject({ run: 'report-1', graph: 'report' });
    expect(told['msg']).toMatch(/node work held the event loop for \d+\.\d s/u);
    expect(await metric('cairn_loop_blocked_seconds_total{graph="report"}')).toBeGreaterThan(1);
    const blocked = { runId: 'report-1', graphId: 'report', node: 'work', heldMs: expect.any(Number) as number };
    await until(
      'the worker reports it',
      async () => JSON.stringify(await call('eve', '/workers')).includes('"blocked"'),
      200,
    );
    const { workers: listed } = await call('eve', '/workers');
    expect(listed).toContainEqual(expect.objectContaining({ blocked: expect.objectContaining(blocked) as object }));
  });

  test('how a request of four eyes is answered: with two tokens, and not with one', async () => {
    await start('refund', 'refund-1');
    const answer = (who: string, wait: string): Promise<Record<string, unknown>> =>
      call(who, '/runs/refund-1/answer', { wait, value: 'yes' });
    await statusIs('refund-1', 'paused');
    expect(await answer('ann', 'finance')).toMatchObject({ httpStatus: 200 });
    await until(
      'the second is asked',
      async () => JSON.stringify(await call('bob', '/waits')).includes('Really?'),
      100,
    );
    for (const who of ['ann', 'eve'])
      expect(await answer(who, 'director')).toMatchObject({ httpStatus: 403, code: 'ANSWER_RESERVED' });
    expect(await answer('bob', 'director')).toMatchObject({ httpStatus: 200 });
    await statusIs('refund-1', 'completed');
    const { acts } = await call('eve', '/runs/refund-1/audit');
    expect(acts).toMatchObject([
      { act: 'start', by: 'eve' },
      { act: 'answer', by: 'ann' },
      { act: 'answer', by: 'bob' },
    ]);
  });

  test('all of these on the pages of the studio', async (context) => {
    const executablePath = await findChromium();
    if (executablePath === undefined) {
      context.skip(absent);
      return;
    }
    const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(timeoutMs / 2);
      const open = (path: string): Promise<unknown> => page.goto(`http://127.0.0.1:${serverPort}${path}`);
      await open('/');
      await page.getByLabel('Token').fill('token-of-eve-0123456789abcdef');
      await page.getByRole('button', { name: 'Sign in' }).click();
      // Which run failed, in which line of which node, on which worker.
      await page
        .getByRole('list', { name: 'Runs' })
        .getByRole('link', { name: /^order-7/u })
        .click();
      const why = page.getByRole('article', { name: 'Why it failed' });
      await why.getByRole('heading', { name: 'card refused' }).waitFor();
      await why.getByText(/at refuse \(.*flows\.ts:7:9/u).waitFor();
      await why.getByText(String(events().find(({ run }) => run === 'order-7')?.['worker'])).waitFor();
      // Why throughput fell.
      await page.getByRole('link', { name: 'Workers' }).click();
      await page.getByText(/Node work of report held the event loop for \d+\.\d s/u).waitFor();
      // Who answered what.
      await page.getByRole('link', { name: 'Runs', exact: true }).click();
      await page
        .getByRole('list', { name: 'Runs' })
        .getByRole('link', { name: /^refund-1/u })
        .waitFor();
    } finally {
      await browser.close();
    }
  });

  test.skipIf(!isProving)('which run kills workers, while its neighbours end (only in `npm run prove`)', async () => {
    await start('scan', 'scan-9');
    await start('healthy', 'neighbour');
    await statusIs('neighbour', 'completed');
    await statusIs('scan-9', 'failed');
    const told = await until(
      'it is logged',
      () => events().find(({ event, run }) => event === 'failed' && run === 'scan-9'),
      50,
    );
    expect(told).toMatchObject({ level: 50, node: 'work', err: { code: 'NODE_KILLED' } });
    const suspect = { level: 40, event: 'suspect', run: 'scan-9', graph: 'scan' };
    expect(events()).toContainEqual(expect.objectContaining(suspect));
    expect(await metric('cairn_suspects_total{graph="scan"}')).toBeGreaterThan(0);
    expect((await call('eve', '/runs/scan-9'))['failures']).toMatchObject([{ node: ['work'], code: 'NODE_KILLED' }]);
  });
});
