/**
 * Cairn as one more peer: `node bench.mjs <variant> <workload> [N]` runs one measurement and prints one line `RESULT {json}`.
 *
 * variant: sqlite (a commit survives a killed process), sqlitefull (a power cut), file (a folder of journals), pg, redis (the servers of the
 * other peers: PEERS_PG and PEERS_REDIS name others), memory. With -write after it, each node of W1, W1L and W2 is an effect: it begins
 * when what came before it is durable. Without, they are pure, and run ahead of their commits.
 * workload: W1 chain of N distinct nodes, W1L the same as a loop, W2 messages appended to a list, W3prep/W3 pause and resume in a
 * fresh process, W4 items at concurrency 8, W5 concurrent runs. Payloads, sizes and the meter are those of the other peers.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AgentGraph, END, humanNode, mapNode, outcome, START } from 'cairn-workflows';

const shared = join(process.env.PEERS ?? resolve(import.meta.dirname, '..'), 'common/workload.mjs');
const { args, Meter, emit, obj1k, msg2k, SIZES, dirBytes, rssMB, r } = await import(pathToFileURL(shared).href);
const importedAtMs = performance.now();

const { variant, workload, param, data } = args();
mkdirSync(data, { recursive: true });
const [storeName, nodes] = variant.split('-');
const settings = { effectClass: nodes === 'write' ? 'write' : 'pure' };
const store = await openStore();
const meter = new Meter();
const policy = { checkpointPolicy: 'every_node', maxVisits: 1_000_000 };

async function openStore() {
  if (![undefined, 'write'].includes(nodes)) throw new Error(`unknown variant ${variant}`);
  const durability = { sqlite: 'normal', sqlitefull: 'full' }[storeName];
  if (durability !== undefined) {
    const { openSqliteStore } = await import('cairn-workflows/stores/sqlite');
    return openSqliteStore({ path: join(data, 'cairn.db'), durability });
  }
  const { PEERS_PG = 'postgres://postgres@127.0.0.1:54391', PEERS_REDIS = 'redis://127.0.0.1:63791' } = process.env;
  const url = {
    memory: 'memory:',
    file: `file:${join(data, 'runs')}`,
    pg: `${PEERS_PG}/${process.env.BENCH_PGDB ?? 'postgres'}`,
    redis: PEERS_REDIS,
  }[storeName];
  if (url === undefined) throw new Error(`unknown variant ${variant}`);
  return openServerStore(url);
}

/** A server has the tables before anything is measured, and nothing of an earlier measurement but what W3 resumes. */
async function openServerStore(url) {
  const opened = (await import('cairn-workflows')).openStore(url);
  await opened.migrate?.();
  return opened;
}

function tick(value) {
  meter.tick();
  return value;
}

/** Distinct nodes, each with an output of 1 KB. */
function chain(count) {
  const graph = new AgentGraph({}, { id: 'chain', ...policy });
  for (let index = 0; index < count; index += 1) {
    graph.addNode(`s${index}`, () => tick(obj1k(index)), settings);
    graph.addEdge(index === 0 ? START : `s${index - 1}`, `s${index}`);
  }
  return graph.addEdge(`s${count - 1}`, END).compile({ store });
}

/** One node visited again and again; what it writes replaces what it wrote before, or is appended to a list. */
function loop(count, write, then = END, { effectClass } = settings) {
  const graph = new AgentGraph({}, { id: 'loop', ...policy, reducers: { 'scratch.messages': 'append' } });
  const isOver = ({ state }) => state.scratch.n >= count;
  graph.addNode('step', ({ visit }) => outcome({ scratch: { ...write(visit - 1), n: visit } }), { effectClass });
  if (then !== END) graph.addNode(then, humanNode({ prompt: 'Go on?' }));
  if (then !== END)
    graph
      .addNode('last', () => tick(obj1k(count)))
      .addEdge(then, 'last')
      .addEdge('last', END);
  return graph
    .addEdge(START, 'step')
    .addEdge('step', 'step', { when: (scope) => !isOver(scope) })
    .addEdge('step', then, { when: isOver })
    .compile({ store });
}

const lastOf = (index) => ({ last: tick(obj1k(index)) });

async function run(graph, count, options = {}, status = 'completed') {
  meter.start();
  const result = await graph.invoke({}, options);
  meter.stop();
  if (result.status !== status) throw result.error ?? new Error(`the run is ${result.status}`);
  return { ...meter.stats(count), rssW2: rssMB() };
}

const workloads = {
  W1: () => run(chain(param ?? 1000), param ?? 1000),
  W1L: () => run(loop(param ?? 1000, lastOf), param ?? 1000),
  W2: () => {
    const count = param ?? SIZES.W2.steps;
    return run(
      loop(count, (index) => ({ messages: [tick(msg2k(index))] })),
      count,
    );
  },
  W3prep: () => run(loop(SIZES.W3.steps, lastOf, 'pause'), SIZES.W3.steps, { runId: 't3' }, 'paused'),
  W3: async () => {
    const startMs = performance.now();
    const graph = loop(SIZES.W3.steps, lastOf, 'pause');
    const { status } = await graph.resume('t3', { answers: { pause: 'yes' } });
    if (status !== 'completed') throw new Error(`the run is ${status}`);
    const endMs = performance.now();
    return { importMs: r(importedAtMs), resumeMs: r(endMs - startMs), executed: meter.ticks.length, totalMs: r(endMs) };
  },
  // Items and runs are writes where the store is on disk, so that each is known before its work begins and kept when it is done.
  W4: () => {
    const { items, conc } = SIZES.W4;
    const each = ({ item }) => tick(obj1k(item));
    const over = () => Array.from({ length: items }, (_, index) => index);
    const graph = new AgentGraph({}, { id: 'map', ...policy })
      .addNode('item', mapNode({ over, each, concurrency: conc, effectClass: 'write' }))
      .addEdge(START, 'item')
      .addEdge('item', END);
    return run(graph.compile({ store }), items);
  },
  W5: async () => {
    const { runs, steps } = SIZES.W5;
    const graph = loop(steps, lastOf, END, { effectClass: 'write' });
    meter.start();
    const results = await Promise.all(Array.from({ length: runs }, () => graph.invoke({})));
    meter.stop();
    if (results.some(({ status }) => status !== 'completed')) throw new Error('a run did not complete');
    return { ...meter.stats(runs * steps), stepsPerSec: r(((runs * steps) / meter.total) * 1000) };
  },
};

const measure = workloads[workload];
if (measure === undefined) throw new Error(`unknown workload ${workload}`);
const measured = await measure();
// A process that resumes has nothing to wait for; the others copy the log into the database, so that bytes are all there is.
if (workload !== 'W3') await store.close();
emit({ peer: 'cairn', variant, workload, param, ...measured, bytes: dirBytes(data) });
process.exit(0);
