/** What a host adds to `advance`: slices over HTTP and over Restate, an answer's way to the end of its run, calls, and hand-overs. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Endpoints } from '../../examples/hosts/disturbed-runs.ts';
import { orderOf, readLedger } from '../../examples/hosts/order.ts';
import { startRestate, type RestateServer } from '../../examples/hosts/restate-server.ts';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import type { Engine } from '../../src/engine/api.ts';
import { fetchHost, restateHost, wakeByRestate } from '../../src/hosts/index.ts';
import { toNodeHandler } from '../../src/http/node.ts';
import { AgentGraph, END, START, type Graph } from '../../src/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { createStore } from '../database.ts';
import { chainGraph } from '../graphs.ts';
import { NotMeasured, type Bench, type Group, type Repetition, type Sample } from '../group.ts';
import { median } from '../median.ts';
import { makeList, outputOfKib } from '../payload.ts';

const atOnce = 16;
const times = 6;
const leaseMs = 2_000;
const overRestate = 'slice of 10 write nodes, 16 at once, over Restate';
const overFetch = 'the same over fetch';
const answered = 'answer to completion over Restate';
const ticks = 'ticks of a run with a timer and a question';
const handOvers = 'checkpoints a hand-over';
const killed = 'endpoint killed until its run goes on';

export const hosts: Group = {
  rows: [
    { name: overRestate, against: 'an empty tick and `advance`', target: 1.25 },
    { name: overFetch, against: '`advance`', target: 1.5 },
    { name: answered, against: 'the same in process', target: 4 },
    { name: ticks, against: '3', target: 1 },
    { name: handOvers, against: '1', target: 1 },
    { name: killed, against: 'the lease', target: 1 },
  ],
  prepare,
};

const limits = { effectMs: 20_000 };
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function prepare(folder: string): Promise<Bench> {
  const server = await startRestate();
  // New calls go to the endpoint that was registered last, so those that are killed have a server of their own.
  const killing = await startRestate();
  if (typeof server === 'string') throw new NotMeasured(server);
  if (typeof killing === 'string') throw new NotMeasured(killing);
  const store = createStore(folder, 'normal');
  const engine = createDefaultEngine({ store, limits, wakes: false });
  const waiting = waitingGraph();
  const slices = chainGraph(makeList(10, outputOfKib), 'write');
  const graphs = [slices, waiting].map((graph) => ({ graph, engine }));
  for (const { graph } of graphs) engine.know(graph);
  const calls = new Map<string, number>();
  const advance = engine.advance.bind(engine);
  const underWay = new Set<string>();
  engine.advance = (runId, how) => {
    calls.set(runId, (calls.get(runId) ?? 0) + 1);
    underWay.add(runId);
    return advance(runId, how).finally(() => underWay.delete(runId));
  };
  const endpoint = restateHost({ graphs, ingress: server.ingress });
  await server.register(`http://127.0.0.1:${await endpoint.listen(0)}`);
  const host = fetchHost({ graphs, maxMs: 60_000 });
  const web = createServer((request, response) => void toNodeHandler(host)(request, response));
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  const webUrl = `http://127.0.0.1:${(web.address() as AddressInfo).port}/tick`;
  const scene: Scene = { engine, server, killing, webUrl, slices, waiting, calls, underWay, folder };
  return {
    repeat: () => repeat(scene),
    close: async () => {
      await endpoint.close();
      web.close();
      web.closeAllConnections();
      await engine.close();
      await store.close();
      await server.stop();
      await killing.stop();
    },
  };
}

interface Scene {
  readonly engine: Engine;
  readonly server: RestateServer;
  readonly killing: RestateServer;
  readonly webUrl: string;
  readonly slices: Graph;
  readonly waiting: Graph;
  /** How often each run was advanced. */
  readonly calls: ReadonlyMap<string, number>;
  /** Runs that are being advanced for a host. */
  readonly underWay: ReadonlySet<string>;
  readonly folder: string;
}

async function repeat(scene: Scene): Promise<Repetition> {
  return {
    ...(await compareSlices(scene)),
    ...(await compareAnswers(scene)),
    [handOvers]: await countHandOvers(),
    [killed]: await timeKilled(scene),
  };
}

/** A timer, then a question, then work. */
function waitingGraph(): Graph {
  return new AgentGraph({}, { id: 'waiting' })
    .addNode('nap', (ctx) => ctx.sleepUntil(ctx.now() + 50))
    .addNode('ask', (ctx) => ctx.ask({ prompt: 'Go on?' }), { effectClass: 'human' })
    .addNode('done', () => 'done', { effectClass: 'write' })
    .addEdge(START, 'nap')
    .addEdge('nap', 'ask')
    .addEdge('ask', 'done')
    .addEdge('done', END)
    .compile().graph;
}

async function post(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
}

const tickUrl = ({ server }: Scene, runId: string): string => `${server.ingress}/cairnRun/${runId}/tick`;

async function begin({ engine }: Scene, graph: Graph, count: number): Promise<readonly string[]> {
  const runs = await Promise.all(Array.from({ length: count }, () => engine.start(graph, {}, { detach: true })));
  return runs.map(({ runId }) => runId);
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** Slices of as many runs at once, in each of the three ways in turn. */
async function compareSlices(scene: Scene): Promise<Repetition> {
  const tookMs = { advance: [] as number[], fetch: [] as number[], restate: [] as number[], empty: [] as number[] };
  const { engine, slices, webUrl } = scene;
  // The engine behind Restate is woken by nobody here: each call is ours.
  engine.dispatchBy(undefined);
  for (let count = 0; count < times; count += 1) {
    const advanced = await begin(scene, slices, atOnce);
    const each = (ids: readonly string[], work: (runId: string) => Promise<unknown>): Promise<number> =>
      took(() => Promise.all(ids.map(work)));
    tookMs.advance.push(await each(advanced, (runId) => engine.advance(runId, { forMs: 30_000 })));
    // A run that has ended has nothing more to do.
    tookMs.empty.push(await each(advanced, (runId) => post(tickUrl(scene, runId), {})));
    tookMs.restate.push(await each(await begin(scene, slices, atOnce), (runId) => post(tickUrl(scene, runId), {})));
    tookMs.fetch.push(await each(await begin(scene, slices, atOnce), (runId) => post(webUrl, { runId })));
  }
  const advance = median(tookMs.advance);
  return {
    [overRestate]: { ours: median(tookMs.restate), floor: median(tookMs.empty) + advance, unit: 'ms' },
    [overFetch]: { ours: median(tookMs.fetch), floor: advance, unit: 'ms' },
  };
}

/** An answer given while the host is woken by it, and while the engine goes on by itself. */
async function compareAnswers(scene: Scene): Promise<Repetition> {
  const { engine, waiting, calls, server } = scene;
  const alone = createDefaultEngine({ store: engine.ports.store, limits });
  alone.know(waiting);
  const tookMs = { restate: [] as number[], alone: [] as number[] };
  const counted: number[] = [];
  engine.dispatchBy(wakeByRestate({ ingress: server.ingress }));
  for (let count = 0; count < times; count += 1) {
    const [runId = ''] = await begin(scene, waiting, 1);
    tookMs.restate.push(await timeAnswer(engine, runId, scene.underWay));
    counted.push(calls.get(runId) ?? 0);
    const handle = await alone.start(waiting, {});
    tookMs.alone.push(await timeAnswer(alone, handle.runId, new Set()));
  }
  await alone.close();
  return {
    [answered]: { ours: median(tookMs.restate), floor: median(tookMs.alone), unit: 'ms' },
    [ticks]: { ours: median(counted), floor: 3, unit: 'calls' },
  };
}

const looksMost = 20_000;

async function timeAnswer(engine: Engine, runId: string, underWay: ReadonlySet<string>): Promise<number> {
  const { store, tenant } = engine.ports;
  const awaitStatus = async (): Promise<string | undefined> => (await store.readRun({ tenant, runId }))?.status;
  const waits = async (): Promise<readonly { readonly waitId: string; readonly kind: string }[]> =>
    (await store.listWaits({ tenant, runId, kinds: ['question'] })).rows;
  // A slice that has not ended would take the answer in.
  const isAtRest = async (): Promise<boolean> =>
    (await awaitStatus()) === 'paused' && (await waits()).length > 0 && !underWay.has(runId);
  for (let looks = 0; !(await isAtRest()); looks += 1) {
    if (looks > looksMost) throw new Error(`run ${runId} never asked`);
    await pause(1);
  }
  const [wait] = await waits();
  return took(async () => {
    await engine.answer(runId, wait?.waitId ?? '', 'yes');
    for (let looks = 0; (await awaitStatus()) !== 'completed'; looks += 1) {
      if (looks > looksMost) throw new Error(`run ${runId} did not complete`);
      await pause(1);
    }
  });
}

/** A function of 20 steps, whole and in slices: the checkpoints that the slices add, and how often it was handed over. */
async function countHandOvers(): Promise<Sample> {
  const engine = createDefaultEngine({ wakes: false, limits });
  const graph = new AgentGraph({}, { id: 'steps' })
    .addNode('steps', async (ctx) => {
      for (let index = 0; index < 20; index += 1)
        await ctx.step(`step ${index}`, { effect: 'external' }, () => pause(5).then(() => index));
      return 'done';
    })
    .addEdge(START, 'steps')
    .addEdge('steps', END)
    .compile({ engine }).graph;
  const advance = async (forMs: number): Promise<{ readonly head: number; readonly slices: number }> => {
    const { runId } = await engine.start(graph, {}, { detach: true });
    let slices = 1;
    while ((await engine.advance(runId, { forMs })).status === 'running') slices += 1;
    const run = await engine.ports.store.readRun({ tenant: engine.ports.tenant, runId });
    return { head: run?.head ?? 0, slices };
  };
  const whole = await advance(60_000);
  const sliced = await advance(20);
  await engine.close();
  return { ours: sliced.head - whole.head, floor: sliced.slices - 1, unit: 'rows' };
}

/** Kills the endpoint within an effect, and waits until another has asked about it, which it can when the lease is over. */
async function timeKilled({ folder, killing: server }: Scene): Promise<Sample> {
  const id = String(Date.now());
  const [path, ledger] = [join(folder, `killed-${id}.db`), join(folder, `ledger-${id}`)];
  const host = wakeByRestate({ ingress: server.ingress });
  const engine = createDefaultEngine({ store: openSqliteStore({ path }), host });
  const endpoints = new Endpoints({ path, ledger, ingress: server.ingress, leaseMs, effectMs: 200 });
  try {
    const { graph } = orderOf(ledger, engine);
    await server.register(await endpoints.open(2));
    const { runId } = await engine.start(graph, {}, { detach: true });
    for (let looks = 0; readLedger(ledger).length === 0; looks += 1) {
      if (looks > looksMost) throw new Error('the order was never charged');
      await pause(1);
    }
    const ours = await took(async () => {
      endpoints.kill();
      for (let looks = 0; (await engine.waits(runId)).length === 0; looks += 1) {
        if (looks > looksMost) throw new Error('nobody went on');
        await pause(1);
      }
    });
    return { ours, floor: leaseMs, unit: 'ms' };
  } finally {
    endpoints.close();
    await engine.close();
    await engine.ports.store.close();
  }
}
