/** The HTTP interface: a request, events of many streams, and how soon another process hears of a commit. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { bearerTokens, createHandler, toNodeHandler } from '../../src/http/index.ts';
import { AgentGraph, END, START } from '../../src/index.ts';
import type { Store } from '../../src/ports/store.ts';
import { createStore } from '../database.ts';
import { chainGraph } from '../graphs.ts';
import type { Group, Repetition, Sample } from '../group.ts';
import { median } from '../median.ts';
import { makeList, outputOfKib } from '../payload.ts';

const requestName = 'a request: read a run';
const streamName = 'an event to each of 100 streams on one run, CPU';
const memoryName = '100 streams on one run, memory';
const hearName = 'from commit to a follower in another process';
const requests = 300;
const streamCount = 100;
/** The pause between two looks of a follower while a run is busy. */
const shortestPollMs = 20;
const sources = resolve(import.meta.dirname, '../../src');
const token = 'token-of-the-benchmark';

interface Served {
  readonly url: string;
  readonly server: Server;
}

async function serve(listener: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<Served> {
  const server = createServer((request, response) => void listener(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

const get = async (url: string): Promise<string> =>
  (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text();

/** Microseconds of one request after the other. */
async function timeRequests(url: string): Promise<number> {
  const startMs = performance.now();
  for (let count = 0; count < requests; count += 1) await get(url);
  return ((performance.now() - startMs) / requests) * 1000;
}

/** What it takes to read the same stream so many times at once. The clients are in this process, for both. */
async function readStreams(
  url: string,
  events: number,
): Promise<{ readonly cpuUs: number; readonly memoryMb: number }> {
  const heapBefore = process.memoryUsage().rss;
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: streamCount }, () => get(url)));
  const { user, system } = process.cpuUsage(before);
  const memoryMb = Math.max(0.1, (process.memoryUsage().rss - heapBefore) / 2 ** 20);
  return { cpuUs: (user + system) / events / streamCount, memoryMb };
}

/** Follows a run in another process; each event is a line with the time at which it came. */
const follower = `import { openSqliteStore } from ${JSON.stringify(resolve(sources, 'stores/sqlite/index.ts'))};
import { createFileBlobs } from ${JSON.stringify(resolve(sources, 'blobs/file-blobs.ts'))};
import { followHistory } from ${JSON.stringify(resolve(sources, 'history/read/follow.ts'))};
const store = openSqliteStore({ path: process.argv[1] });
console.log('ready');
for (;;) {
  try {
    for await (const { seq } of followHistory({ store, blobs: createFileBlobs(process.argv[2]), tenant: 'default' }, 'heard'))
      console.log(seq + ' ' + (performance.timeOrigin + performance.now()));
    break;
  } catch (error) { if (error.code !== 'RUN_NOT_FOUND') throw error; }
}`;

/** Milliseconds from the end of a node, which is just before its commit, to the event in the other process. */
async function timeHearing(store: Store, file: string, folder: string): Promise<number> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', follower, file, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
  });
  const heard: number[] = [];
  const ready = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'ready') ready.resolve();
    else heard.push(Number(line.split(' ', 2)[1]));
  });
  const exit = once(child, 'exit');
  await Promise.race([ready.promise, exit]);
  const ended: number[] = [];
  const slow: AgentGraph = new AgentGraph({}, { id: 'slow', checkpointPolicy: 'every_node' });
  for (let index = 0; index < 20; index += 1) {
    const work = async (): Promise<void> => {
      await new Promise((done) => void setTimeout(done, 50 + Math.random() * 50));
      ended.push(performance.timeOrigin + performance.now());
    };
    slow
      .addNode(`n${index}`, work, { effectClass: 'write' })
      .addEdge(index === 0 ? START : `n${index - 1}`, `n${index}`);
  }
  const engine = createDefaultEngine({ store });
  await (await engine.start(slow.addEdge('n19', END).toGraph(), {}, { runId: 'heard' })).result();
  await engine.close();
  await exit;
  const delays = ended.map((at) => Math.min(...heard.filter((time) => time >= at).map((time) => time - at)));
  return median(delays.filter(Number.isFinite));
}

export const http: Group = {
  rows: [
    { name: requestName, against: 'the same bytes by a bare node:http handler' },
    { name: streamName, against: 'the same bytes by a bare node:http handler' },
    { name: memoryName, against: 'the same bytes by a bare node:http handler' },
    { name: hearName, against: `the shortest pause between two looks, ${shortestPollMs} ms` },
  ],
  prepare: async (folder) => {
    const store = createStore(folder, 'normal');
    const engine = createDefaultEngine({ store });
    for (const [runId, count] of [
      ['short', 20],
      ['long', 500],
    ] as const)
      await (await engine.start(chainGraph(makeList(count, outputOfKib), 'write'), {}, { runId })).result();
    const authorize = bearerTokens([{ token, principal: 'bench', kind: 'person', scopes: ['read'] }]);
    const handler = createHandler({ engine, authorize });
    const ours = await serve(toNodeHandler(handler));
    const bodies = new Map<string, string>();
    const bare = await serve((request, response) => response.end(bodies.get(request.url ?? '')));
    const run = '/v1/runs/short';
    const stream = '/v1/runs/long/events';
    for (const path of [run, stream]) bodies.set(path, await get(ours.url + path));
    const events = bodies.get(stream)?.match(/^event: checkpoint$/gm)?.length ?? 0;
    let count = 0;
    return {
      repeat: async (): Promise<Repetition> => {
        const request: Sample = {
          ours: await timeRequests(ours.url + run),
          floor: await timeRequests(bare.url + run),
          unit: 'us',
        };
        const [by, bareBy] = [
          await readStreams(ours.url + stream, events),
          await readStreams(bare.url + stream, events),
        ];
        const own = join(folder, `heard-${(count += 1)}`);
        mkdirSync(own);
        const heardStore = createStore(own, 'normal');
        const heardMs = await timeHearing(heardStore, join(own, 'ours.db'), own);
        await heardStore.close();
        return {
          [requestName]: request,
          [streamName]: { ours: by.cpuUs, floor: bareBy.cpuUs, unit: 'us' },
          [memoryName]: { ours: by.memoryMb, floor: bareBy.memoryMb, unit: 'MB' },
          [hearName]: { ours: heardMs, floor: shortestPollMs, unit: 'ms' },
        };
      },
      close: async () => {
        handler.close();
        for (const { server } of [ours, bare]) {
          server.closeAllConnections();
          server.close();
        }
        await engine.close();
        await store.close();
      },
    };
  },
};
