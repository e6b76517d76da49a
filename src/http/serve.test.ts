/** `cairn serve` over the store of a folder: what it knows, and what it leaves alone where it is only to look. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../test/support/awaited.ts';
import { readSamples } from '../../test/support/prometheus-text.ts';
import { recordLog } from '../../test/support/recorded-log.ts';
import { isOfSlowMachine } from '../../test/support/slow-machine.ts';
import { openCairn } from '../app/open-cairn.ts';
import { createClient, type CairnClient } from './client.ts';
import { startServer, type ServeOptions, type Server } from './serve.ts';

const main = pathToFileURL(resolve('src/index.ts')).href;
let cwd = '';
let server: Server | undefined;
beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'cairn-serve-'));
  writeFileSync(
    join(cwd, 'flows.ts'),
    `import { appendFileSync } from 'node:fs';
import { AgentGraph, END, START, humanNode } from ${JSON.stringify(main)};
appendFileSync(${JSON.stringify(join(cwd, 'imports'))}, 'i');
export const ask = new AgentGraph({}, { id: 'ask' }).addNode('q', humanNode({ prompt: 'Go?' })).addNode('last', () => 'done').addEdge(START, 'q').addEdge('q', 'last').addEdge('last', END).compile();
export const hello = new AgentGraph({}, { id: 'hello' }).addNode('a', () => 'hi').addEdge(START, 'a').addEdge('a', END).compile();
`,
  );
  writeFileSync(join(cwd, 'cairn.config.json'), JSON.stringify({ modules: ['flows.ts'] }));
  const cairn = await openCairn({ cwd });
  await cairn.run({ file: 'flows.ts', export: 'ask', runId: 'r' });
  await cairn.close();
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(cwd, { recursive: true, force: true });
});

async function serve(options: Partial<ServeOptions> = {}): Promise<CairnClient> {
  server = await startServer({
    cwd,
    storeUrl: undefined,
    port: 0,
    onError: (error) => {
      throw error;
    },
    ...options,
  });
  return createClient(server.url, server.token ?? '', { waitSeconds: 20 });
}

test('the graphs of all exports of configured modules are known: they are started by name, and their runs go on', async () => {
  const client = await serve();
  expect(await client.run({ file: 'hello' })).toMatchObject({ result: { status: 'completed' } });
  await client.answer({ run: 'r', value: 'yes' });
  for await (const event of client.follow('r')) expect(event.type).toBe('checkpoint');
  expect(await client.inspect({ run: 'r' })).toMatchObject({ status: 'completed' });
  expect(await client.preview({ checkpoint: 'r', asFork: true })).toMatchObject({ runId: 'r' });
});

test('with readOnly it imports no module and runs no configuration, opens the store to read, and shows runs whose graph it does not know', async () => {
  const store = join(cwd, '.cairn', 'cairn.db');
  writeFileSync(join(cwd, 'cairn.config.mjs'), `throw new Error('the configuration was run');\n`);
  const [imports, before] = [readFileSync(join(cwd, 'imports'), 'utf8'), existsSync(store) && readFileSync(store)];
  const client = await serve({ readOnly: true });
  expect(await client.inspect({ run: 'r' })).toMatchObject({
    status: 'paused',
    graphId: 'ask',
    waits: [{ prompt: 'Go?', node: ['q'] }],
    progress: { nodes: ['last', 'q'], completed: [], wave: 0, waveCount: 2, percent: 0 },
  });
  expect(await client.show({ checkpoint: 'r@1' })).toMatchObject({ seq: 1 });
  await expect(client.preview({ checkpoint: 'r' })).rejects.toMatchObject({ code: 'CODE_NOT_RUN' });
  await expect(client.answer({ run: 'r', value: 'yes' })).rejects.toThrow(/nothing here|not served/);
  expect(readFileSync(join(cwd, 'imports'), 'utf8')).toBe(imports);
  expect(existsSync(store) && readFileSync(store)).toEqual(before);
});

test('E10.9 a server tells its counters and what is open in the store to who has the scope to read, and nobody else', async () => {
  const client = await serve();
  await client.run({ file: 'hello' });
  const ask = (path: string, token?: string): Promise<Response> =>
    fetch(`${server?.url}${path}`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
  expect([(await ask('/metrics')).status, (await ask('/metrics', 'other')).status]).toEqual([401, 401]);
  const answer = await ask('/metrics', server?.token);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  const samples = readSamples(await answer.text());
  expect(samples.get('cairn_runs_ended_total{graph="hello",status="completed"}')).toBe(1);
  expect(samples.get('cairn_runs_open{status="paused"}')).toBe(1);
  expect(samples.get('cairn_store_up')).toBe(1);
  expect([...samples.keys()].join('\n')).not.toMatch(/run="|run_id/u);
});

test('E10.8 a server logs the runs that it advances', async () => {
  const { log, events } = recordLog();
  const client = await serve({ log });
  await client.run({ file: 'hello', runId: 'h' });
  await until('it is logged', () => events.some(({ event, run }) => event === 'completed' && run === 'h'), 10);
  const ofRun = events.filter((line) => line.run === 'h' && !isOfSlowMachine(line));
  expect(ofRun.map(({ event }) => event)).toEqual(['started', 'completed']);
});

test('D46 who calls a server by another name, or from a page of another origin, is refused as a problem with its code', async () => {
  await serve();
  const url = new URL(server?.url ?? '');
  const { promise, resolve: done } = Promise.withResolvers<string>();
  const socket = connect(Number(url.port), url.hostname, () =>
    socket.write('GET /v1/runs HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n'),
  );
  let answer = '';
  socket.on('data', (data) => (answer += String(data))).on('close', () => done(answer));
  const [head = '', body = ''] = (await promise).split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 403 .*\r\n(?:.*\r\n)*content-type: application\/problem\+json/iu);
  expect(body).toContain('"code":"ORIGIN_REFUSED"');
  const page = await fetch(url, { headers: { origin: 'https://evil.example' } });
  expect(await page.json()).toMatchObject({
    status: 403,
    code: 'ORIGIN_REFUSED',
    retry: 'no',
    hint: expect.any(String),
  });
});
