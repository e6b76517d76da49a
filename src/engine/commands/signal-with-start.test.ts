/** A run is started with its first signal in one write, and takes each signal once (W5.7). */
import { expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, type Bench } from '../../../test/engine-kit.ts';
import { within } from '../../../test/support/awaited.ts';

/** Receives as many items as its input says. */
function cart(fails = false): Graph {
  return graphOf(
    'cart',
    [
      node('collect', 'read', async (ctx: NodeContext) => {
        const { count } = ctx.input as { count: number };
        const items: unknown[] = [];
        while (items.length < count) items.push(await ctx.receive('item'));
        if (fails) throw new Error('no');
        return items;
      }),
    ],
    edges('> collect', 'collect >'),
  );
}

const add = (bench: Bench, id: string, count = 2, more = {}): Promise<{ readonly created: boolean }> =>
  bench.engine.signalWithStart(cart(), 'c', { count }, 'item', id, { id, ...more });

test('W5.7 the first signal starts the run, the next ones are for it, and each id counts once', async () => {
  const bench = createBench({ findGraph: () => cart() });
  expect((await add(bench, 'a')).created).toBe(true);
  expect((await add(bench, 'a')).created).toBe(false);
  // The input of a run that is there is not compared.
  expect((await add(bench, 'b', 9)).created).toBe(false);
  const { status, state } = await resumeToRest(bench.engine, 'c', cart());
  expect([status, state.outputs['collect']]).toEqual(['completed', ['a', 'b']]);
});

test('W5.7 the handle of a run that is started here tells its result, and with detach it is only recorded', async () => {
  const bench = createBench({ findGraph: () => cart(), wakes: true });
  const handle = await bench.engine.signalWithStart(cart(), 'now', { count: 1 }, 'item', 1);
  expect((await within('it ends', handle.result())).state.outputs['collect']).toEqual([1]);
  await add(bench, 'a', 1, { detach: true });
  await settleDown();
  const queued = await bench.engine.inspect('c');
  expect([queued.status, queued.isQueued, queued.unreceived]).toEqual([
    'running',
    true,
    [{ id: 'a', name: 'item', value: 'a' }],
  ]);
});

test('W5.7 a run that has ended takes nothing, and what it had taken before is not sent again', async () => {
  const bench = createBench({ findGraph: () => cart() });
  await add(bench, 'a', 1);
  await resumeToRest(bench.engine, 'c', cart());
  await expect(add(bench, 'b', 1)).rejects.toMatchObject({
    code: 'RUN_ENDED',
    data: { runId: 'c', status: 'completed' },
  });
  expect((await add(bench, 'a', 1)).created).toBe(false);
  expect(await bench.store.readMessages({ tenant: 'default', runId: 'c' })).toEqual([]);
  const fails = createBench({ findGraph: () => cart(true) });
  await fails.engine.signalWithStart(cart(true), 'c', { count: 1 }, 'item', 1, { id: 'a' });
  expect((await resumeToRest(fails.engine, 'c', cart(true))).status).toBe('failed');
  await expect(add(fails, 'b', 1)).rejects.toMatchObject({ code: 'RUN_ENDED', data: { status: 'failed' } });
  const cancelled = createBench({ findGraph: () => cart() });
  await add(cancelled, 'a', 2, { detach: true });
  await cancelled.engine.cancel('c');
  await expect(add(cancelled, 'b', 1)).rejects.toMatchObject({ code: 'RUN_ENDED', data: { status: 'cancelled' } });
});

test('W5.7 what came when nobody received any more is told of the run', async () => {
  const bench = createBench({ findGraph: () => cart() });
  for (const id of ['a', 'b', 'c']) await add(bench, id, 2, { detach: true });
  const { status } = await resumeToRest(bench.engine, 'c', cart());
  const { unreceived } = await bench.engine.inspect('c');
  expect([status, unreceived]).toEqual(['completed', [{ id: 'c', name: 'item', value: 'c' }]]);
});

test('W5.7 a run of another graph, an input that does not fit and ids that do not are refused, and nothing is recorded', async () => {
  const bench = createBench();
  const other = graphOf('other', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  await bench.engine.start(other, {}, { runId: 'c', detach: true });
  await expect(add(bench, 'a')).rejects.toMatchObject({ code: 'RUN_EXISTS', data: { difference: 'graph' } });
  const send = (runId: string, id: string): Promise<unknown> =>
    bench.engine.signalWithStart(cart(), runId, {}, 'item', 1, { id });
  await expect(send('a b', 'x')).rejects.toMatchObject({ code: 'ID_INVALID' });
  await expect(send('cairn:due:x', 'x')).rejects.toMatchObject({ code: 'ID_INVALID' });
  await expect(send('d', 'x'.repeat(100_000))).rejects.toMatchObject({ code: 'ID_INVALID' });
  expect((await bench.store.listRuns({ tenant: 'default' })).rows.map(({ runId }) => runId)).toEqual(['c']);
  expect(await bench.store.readMessages({ tenant: 'default', runId: 'c' })).toEqual([]);
});

test('W5.7 P1 killed at every commit, the run receives each signal once', async () => {
  let trials = 0;
  for (let commits = 0; commits < 20; commits += 1) {
    const bench = createBench();
    const died = Promise.withResolvers<undefined>();
    const dying = dyingEngine(bench, commits, () => died.resolve(undefined));
    const send = (engine: typeof dying, id: string): Promise<unknown> =>
      engine.signalWithStart(cart(), 'c', { count: 3 }, 'item', id, { id });
    const sent = (async () => {
      for (const id of ['a', 'b', 'c']) await send(dying, id);
      const handle = await dying.resume('c', { graph: cart() });
      return handle.result();
    })();
    sent.catch(() => undefined);
    const first = await Promise.race([sent, died.promise]);
    await settleDown();
    const engine = afterCrash(bench);
    for (const id of ['a', 'b', 'c']) await send(engine, id);
    const { state } = first ?? (await resumeToRest(engine, 'c', cart()));
    expect((state.outputs['collect'] as readonly string[]).toSorted(), `after ${commits}`).toEqual(['a', 'b', 'c']);
    if (first !== undefined) break;
    trials += 1;
  }
  expect(trials).toBeGreaterThan(1);
});
