/** Suspects as an engine sees them: which runs are, who advances them, and what everybody else gets meanwhile (O7). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, rowOf, runToRest, testIds, type Bench } from '../../test/engine-kit.ts';
import { recordLog } from '../../test/support/recorded-log.ts';
import { CairnError } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';
import type { Engine, Isolation, Suspect } from './api.ts';
import { createEngine } from './engine.ts';

const never = new Promise<never>(() => {});
const two = graphOf('two', [node('a', 'pure', () => 'a'), node('b', 'pure', () => 'b')], edges('> a', 'a > b', 'b >'));

/** Advances suspects when it is told to, under their claims, in an engine that stands for the other process. */
class HeldIsolation implements Isolation {
  busy: Promise<void> | undefined;
  readonly asked: Suspect[] = [];
  readonly #bench: Bench;
  readonly #graph: Graph;
  #end: (hasRested: boolean) => void = () => undefined;

  constructor(bench: Bench, graph: Graph) {
    this.#bench = bench;
    this.#graph = graph;
  }

  async advance(suspect: Suspect): Promise<boolean> {
    this.asked.push(suspect);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#end = resolve;
    suspect.lost.addEventListener('abort', () => resolve(false));
    this.busy = promise.then(() => void (this.busy = undefined));
    return promise;
  }

  /** Brings the one that is asked about to rest; or not. */
  async end(hasRested = true): Promise<void> {
    const suspect = this.asked.at(-1);
    if (hasRested && suspect !== undefined) {
      const apart = createEngine({ ...this.#bench.options, ids: testIds('apart'), findGraph: () => this.#graph });
      const none = { condemned: () => undefined, onBegun: () => undefined, onEnded: () => undefined };
      await (await apart.advanceApart(suspect.claim, none, suspect.resume)).result();
    }
    this.#end(hasRested);
  }
}

interface Suspected {
  readonly bench: Bench;
  readonly engine: Engine;
  readonly isolation: HeldIsolation;
}

/** An engine with isolation over runs that each lost two owners. */
async function suspected(...runIds: readonly string[]): Promise<Suspected> {
  const bench = createBench({ findGraph: () => two });
  const isolation = new HeldIsolation(bench, two);
  const engine = createEngine({ ...bench.options, isolation });
  for (const runId of runIds) {
    await bench.engine.start(two, {}, { runId, detach: true });
    for (const workerId of ['one', 'two'])
      await bench.store.claimRun({ tenant: 'default', runId, workerId, leaseMs: 0 });
  }
  return { bench, engine, isolation };
}

const asked = ({ asked: all }: HeldIsolation): readonly string[] => all.map(({ run }) => run.runId);

test('O7.4 a suspect that is resumed is advanced apart, and whoever else resumes it follows the same', async () => {
  const { engine, isolation, bench } = await suspected('r');
  const handle = await engine.resume('r', { by: 'ann' });
  const other = await engine.resume('r');
  expect([asked(isolation), isolation.asked[0]?.resume?.by]).toEqual([['r'], 'ann']);
  await isolation.end();
  expect((await handle.result()).status).toBe('completed');
  expect((await other.result()).status).toBe('completed');
  expect((await rowOf(bench, 'r')).claim).toBeUndefined();
});

test('O7.4 one suspect at a time is advanced; those that wait for their turn are nobody’s meanwhile', async () => {
  const { engine, isolation, bench } = await suspected('r', 's');
  const first = await engine.resume('r');
  const second = await engine.resume('s');
  expect(asked(isolation)).toEqual(['r']);
  expect((await rowOf(bench, 's')).claim).toBeUndefined();
  await isolation.end();
  await first.result();
  const result = second.result();
  await expect.poll(() => asked(isolation)).toEqual(['r', 's']);
  await isolation.end();
  expect((await result).status).toBe('completed');
});

test('O7.4 a suspect whose process ended for no reason of its own is tried again', async () => {
  const { engine, isolation } = await suspected('r');
  const result = (await engine.resume('r')).result();
  await isolation.end(false);
  await expect.poll(() => asked(isolation)).toEqual(['r', 'r']);
  await isolation.end();
  expect((await result).status).toBe('completed');
});

test('O7.4 an engine that is closed gives a suspect back, and a resume with a graph of its own is carried out here', async () => {
  const { engine, isolation, bench } = await suspected('r');
  const handle = await engine.resume('r');
  await engine.close();
  await expect(handle.result()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  expect((await rowOf(bench, 'r')).claim).toBeUndefined();
  const again = createEngine({ ...bench.options, isolation });
  expect((await (await again.resume('r', { graph: two })).result()).status).toBe('completed');
  expect(asked(isolation)).toEqual(['r']);
});

test('O7.2 what condemned a node is not tried again by its policy, and by a person', async () => {
  let calls = 0;
  const retry = { retry: { attempts: 3, delayMs: 1 } };
  const graph = graphOf('g', [node('a', 'pure', () => (calls += 1), retry)], edges('> a', 'a >'));
  const bench = createBench({ findGraph: () => graph });
  await bench.engine.start(graph, {}, { runId: 'r', detach: true });
  for (const code of ['NODE_BLOCKED', 'NODE_KILLED'] as const) {
    const { claim } = await bench.store.claimRun({ tenant: 'default', runId: 'r', workerId: 'w', leaseMs: 10_000 });
    const condemned = (): CairnError => new CairnError(code, { node: 'a' });
    const apart = { condemned, onBegun: () => undefined, onEnded: () => undefined };
    const failed = await (await bench.engine.advanceApart(claim as never, apart, { retryFailed: true })).result();
    expect([failed.status, (failed.error as { cause?: { code?: string } }).cause?.code, calls]).toEqual([
      'failed',
      code,
      0,
    ]);
  }
  const mended = await (await bench.engine.resume('r')).result();
  expect([mended.status, mended.state.outputs['a'], calls]).toEqual(['completed', 1, 1]);
});

test('O7 a run whose head moves between its deaths is a suspect after ten of them, until it comes to rest', async () => {
  let lived = 0;
  // One node ends in each life, so that each death is the first at its head.
  const ids = Array.from({ length: 12 }, (_, index) => `n${index}`);
  const graph = graphOf(
    'g',
    ids.map((id, index) => node(id, 'pure', () => (index >= lived ? never : id))),
    edges('> n0', ...ids.slice(1).map((id, index) => `n${index} > ${id}`), 'n11 >'),
  );
  const bench = createBench({ findGraph: () => graph });
  const isolation = new HeldIsolation(bench, graph);
  await bench.engine.start(graph, {}, { runId: 'r', detach: true });
  const names = Array.from({ length: 12 }, (_, index) => `life${index}`);
  for (const [index, name] of names.entries()) {
    lived = index + 1;
    const engine = createEngine({ ...bench.options, ids: testIds(name, names.slice(0, index)), isolation });
    await engine.resume('r');
    const { deaths, deathsSinceRest } = await rowOf(bench, 'r');
    expect([deathsSinceRest, deaths <= 1, isolation.asked.length]).toEqual([index, true, index < 10 ? 0 : 1]);
    if (index === 10) break;
    await expect.poll(async () => (await bench.engine.inspect('r')).state.outputs[`n${index}`]).toBe(`n${index}`);
  }
});

test('O7 the count ends where the run comes to rest', async () => {
  const asking = graphOf('asking', [node('a', 'human', (ctx) => ctx.ask({ prompt: '?' }))], edges('> a', 'a >'));
  const bench = createBench({ findGraph: () => asking });
  await bench.engine.start(asking, {}, { runId: 'r', detach: true });
  for (const workerId of ['one', 'two', 'three'])
    await bench.store.claimRun({ tenant: 'default', runId: 'r', workerId, leaseMs: 0 });
  expect(await rowOf(bench, 'r')).toMatchObject({ deaths: 2, deathsSinceRest: 2 });
  await runToRest(bench.engine, asking, {}, 'r');
  expect(await rowOf(bench, 'r')).toMatchObject({ status: 'paused', deaths: 0 });
  await bench.store.claimRun({ tenant: 'default', runId: 'r', workerId: 'four', leaseMs: 0 });
  expect(await rowOf(bench, 'r')).toMatchObject({ deaths: 0, deathsSinceRest: 0 });
});

test('O7.4 that a suspect is advanced apart is logged, whoever goes on with it', async () => {
  const { log, events } = recordLog();
  const bench = createBench({ findGraph: () => two });
  const isolation = new HeldIsolation(bench, two);
  const engine = createEngine({ ...bench.options, isolation, log });
  await bench.engine.start(two, {}, { runId: 'r', detach: true });
  for (const workerId of ['one', 'two'])
    await bench.store.claimRun({ tenant: 'default', runId: 'r', workerId, leaseMs: 0 });
  await engine.resume('r', { by: 'ann' });
  expect(events).toMatchObject([{ level: 'warn', event: 'suspect', run: 'r', graph: 'two' }]);
  await isolation.end();
});
