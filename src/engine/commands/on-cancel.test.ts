/** After a cancel, the node that the graph names for it runs once, whatever happens to its process (E7.4). */
import { expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';
import { benchOf, liveUntil, refusedBy } from '../../../test/follow-up-kit.ts';
import { within } from '../../../test/support/awaited.ts';
import { createEngine } from '../engine.ts';

interface World {
  readonly calls: string[];
  /** Ids of what is reserved, by the key under which it was. */
  readonly reserved: Map<string, string>;
}

const createWorld = (): World => ({ calls: [], reserved: new Map() });

/** Reserves, waits for somebody, and pays; after a cancel, releases what it reserved. */
function booking(
  world: World,
  release: (ctx: NodeContext) => unknown = () => undefined,
  effect: 'external' | 'read' = 'external',
): Graph {
  return graphOf(
    'booking',
    [
      node(
        'reserve',
        'external',
        ({ idempotencyKey }) => {
          world.calls.push('reserve');
          world.reserved.set(idempotencyKey, 'seat 4');
          return 'seat 4';
        },
        { idempotent: true },
      ),
      node('confirm', 'human', (ctx) => ctx.ask({ prompt: 'Take it?' })),
      node('pay', 'external', () => world.calls.push('pay')),
      node(
        'release',
        effect,
        async (ctx) => {
          world.calls.push(
            `release ${String(ctx.state.outputs['reserve'])}: ${ctx.cancel?.reason} by ${ctx.cancel?.by}`,
          );
          world.reserved.clear();
          await release(ctx);
          return 'released';
        },
        { idempotent: true },
      ),
    ],
    edges('> reserve', 'reserve > confirm', 'confirm > pay', 'pay >'),
    { policies: { onCancel: 'release' } },
  );
}

const request = { reason: 'changed her mind', by: 'ann' };
const released = 'release seat 4: changed her mind by ann';

async function restOf(bench: Bench, graph: Graph): Promise<string> {
  const handle = await bench.engine.resume('r', { graph }).catch(() => undefined);
  if (handle !== undefined) await within('the run comes to rest', handle.result());
  return (await bench.engine.inspect('r')).status;
}

test('E7.4 a run that waits is cancelled, its node runs once, and the run does not fail or wait for it otherwise', async () => {
  const world = createWorld();
  const graph = booking(world);
  const bench = benchOf(graph);
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect([paused.status, paused.skipped]).toEqual(['paused', []]);
  await bench.engine.cancel('r', request);
  expect(await restOf(bench, graph)).toBe('cancelled');
  expect([world.calls, [...world.reserved]]).toEqual([['reserve', released], []]);
  const { state, waits } = await bench.engine.inspect('r');
  expect([state.outputs['release'], waits, await bench.engine.waits('r')]).toEqual(['released', [], []]);
  expect((await changesOf(bench.engine, 'r')).slice(-3)).toEqual(['cancel', 'intent release', 'settle release + end']);
  await expect(bench.engine.cancel('r')).rejects.toMatchObject({ code: 'RUN_FINISHED' });
  await expect(bench.engine.resume('r', { graph })).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
});

test('E7.4 a run that is at work ends what it does first, and is cancelling until its node has ended', async () => {
  const order: string[] = [];
  const begun = Promise.withResolvers<void>();
  const isReleasing = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const graph = graphOf(
    'g',
    [
      node('work', 'read', async (ctx) => {
        begun.resolve();
        await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
        order.push('work ended');
      }),
      node('undo', 'pure', async ({ cancel }) => {
        order.push(`undo: ${JSON.stringify(cancel)}`);
        isReleasing.resolve();
        await mayEnd.promise;
      }),
      node('more', 'pure', () => order.push('more')),
    ],
    edges('> work', 'work > more', 'more >'),
    { policies: { onCancel: 'undo' } },
  );
  const { engine } = benchOf(graph);
  const handle = await engine.start(graph, {}, { runId: 'r' });
  await within('it works', begun.promise);
  await engine.cancel('r');
  await within('it undoes', isReleasing.promise);
  expect((await engine.inspect('r')).status).toBe('cancelling');
  // A second cancel changes nothing.
  await engine.cancel('r', { reason: 'again' });
  await settleDown();
  expect((await engine.inspect('r')).status).toBe('cancelling');
  mayEnd.resolve();
  const result = await within('it ends', handle.result());
  expect([result.status, order]).toEqual(['cancelled', ['work ended', 'undo: {}']]);
});

test('E7.4 a run that completes or fails does not run the node, and a run without one is cancelled at once', async () => {
  const calls: string[] = [];
  const ends = (fails: boolean, more = {}): Graph =>
    graphOf(
      'g',
      [
        node('a', 'pure', () => {
          if (fails) throw new Error('no');
        }),
        node('undo', 'pure', () => calls.push('undo')),
      ],
      edges('> a', 'a >'),
      { policies: { onCancel: 'undo' }, ...more },
    );
  for (const routing of ['all', 'first'] as const) {
    const policies = { policies: { onCancel: 'undo', routing } };
    const { engine } = createBench();
    const done = await runToRest(engine, ends(false, policies));
    expect([done.status, done.skipped]).toEqual(['completed', []]);
    const failed = await runToRest(engine, ends(true, policies));
    expect([failed.status, failed.failed]).toEqual(['failed', ['a']]);
  }
  expect(calls).toEqual([]);
});

test('E7.4 after a failure, a cancel still runs the node', async () => {
  const calls: string[] = [];
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => {
        throw new Error('no');
      }),
      node('undo', 'pure', () => calls.push('undo')),
    ],
    edges('> a', 'a >'),
    { policies: { onCancel: 'undo' } },
  );
  const bench = benchOf(graph);
  expect((await runToRest(bench.engine, graph, {}, 'r')).status).toBe('failed');
  await bench.engine.cancel('r');
  expect([await restOf(bench, graph), calls]).toEqual(['cancelled', ['undo']]);
});

test('E7.4 a node that fails leaves the run failed: a resume tries it again, and force gives it up', async () => {
  for (const way of ['resume', 'force'] as const) {
    const world = createWorld();
    let isBroken = true;
    const graph = booking(world, () => {
      if (isBroken) throw Object.assign(new Error('the desk is closed'), { applied: 'no' });
    });
    const bench = benchOf(graph);
    await runToRest(bench.engine, graph, {}, 'r');
    await bench.engine.cancel('r', request);
    await within(
      'it rests',
      bench.engine.resume('r', { graph, retryFailed: false }).then((handle) => handle.result()),
    );
    const failed = await bench.engine.inspect('r');
    expect([failed.status, failed.failed]).toEqual(['failed', ['release']]);
    await bench.engine.cancel('r');
    expect((await bench.engine.inspect('r')).status).toBe('failed');
    isBroken = false;
    const expected =
      way === 'resume'
        ? ['cancelled', 'released', ['reserve', released, released], { kind: 'end', status: 'cancelled' }]
        : [
            'cancelled',
            undefined,
            ['reserve', released],
            { kind: 'end', status: 'cancelled', by: 'bob', detail: { gaveUp: 'release' } },
          ];
    if (way === 'resume') await restOf(bench, graph);
    else await bench.engine.cancel('r', { force: true, by: 'bob' });
    const { status, state } = await bench.engine.inspect('r');
    const parts = [];
    for await (const event of bench.engine.events('r')) if (event.type === 'checkpoint') parts.push(...event.change);
    expect([status, state.outputs['release'], world.calls, parts.at(-1)]).toEqual(expected);
  }
});

test('E7.4 force gives up on a node that runs, and leaves out one that has not begun', async () => {
  const begun = Promise.withResolvers<void>();
  const world = createWorld();
  const graph = booking(world, async (ctx) => {
    begun.resolve();
    await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
    throw new Error('stopped');
  });
  const bench = benchOf(graph);
  await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.cancel('r', request);
  await within('it releases', begun.promise);
  await bench.engine.cancel('r', { force: true });
  await within(
    'it ends',
    bench.engine
      .resume('r', { graph })
      .then((handle) => handle.result())
      .catch(() => undefined),
  );
  expect((await bench.engine.inspect('r')).status).toBe('cancelled');

  await runToRest(bench.engine, graph, {}, 'r2');
  await bench.engine.cancel('r2', { force: true });
  expect([(await bench.engine.inspect('r2')).status, world.calls]).toEqual([
    'cancelled',
    ['reserve', released, 'reserve'],
  ]);
});

test('E7.4 the node has ten minutes unless it says otherwise', async () => {
  const stuck = (timeoutMs?: number): Graph =>
    graphOf(
      'g',
      [
        node('a', 'human', (ctx) => ctx.ask({ prompt: 'go?' })),
        node('undo', 'read', () => new Promise(() => {}), timeoutMs === undefined ? {} : { timeoutMs }),
      ],
      edges('> a', 'a >'),
      { policies: { onCancel: 'undo' } },
    );
  for (const [timeoutMs, tookMs] of [
    [undefined, 600_000],
    [7_000, 7_000],
  ] as const) {
    const graph = stuck(timeoutMs);
    const bench = benchOf(graph);
    await runToRest(bench.engine, graph, {}, 'r');
    const before = bench.clock.timeMs;
    await bench.engine.cancel('r');
    await within(
      'it rests',
      bench.engine.resume('r', { graph, retryFailed: false }).then((handle) => handle.result()),
    );
    expect([(await bench.engine.inspect('r')).status, bench.clock.timeMs - before]).toEqual(['failed', tookMs]);
  }
});

test('E7.4 a question of the node is asked, and its answer ends the cancel', async () => {
  const world = createWorld();
  const graph = booking(world, (ctx) => ctx.ask({ prompt: 'Tell the customer?' }), 'read');
  const bench = benchOf(graph);
  await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.cancel('r', request);
  await within(
    'it rests',
    bench.engine.resume('r', { graph }).then((handle) => handle.result()),
  );
  const { status, waits } = await bench.engine.inspect('r');
  expect([status, waits.map(({ prompt }) => prompt)]).toEqual(['paused', ['Tell the customer?']]);
  await bench.engine.answer('r', waits[0]?.waitId ?? '', 'yes');
  expect(await restOf(bench, graph)).toBe('cancelled');
  expect(world.reserved.size).toBe(0);
});

test('E7.4 a fork of a cancelled run goes on where that was before the cancel', async () => {
  const world = createWorld();
  const graph = booking(world);
  const bench = benchOf(graph);
  await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.cancel('r', request);
  await restOf(bench, graph);
  const { seq } = await bench.engine.inspect('r');
  for (const at of [seq, seq - 1, seq - 2]) {
    const { runId } = await bench.engine.fork({ runId: 'r', seq: at });
    const forked = await resumeToRest(bench.engine, runId, graph);
    expect([forked.status, forked.waits.map(({ prompt }) => prompt)]).toEqual(['paused', ['Take it?']]);
    await bench.engine.answer(runId, forked.waits[0]?.waitId ?? '', 'yes');
    const done = await resumeToRest(bench.engine, runId, graph);
    expect([done.status, done.state.outputs['release']]).toEqual(['completed', undefined]);
  }
});

test('E7.4 P1 killed at any commit, a cancelled run releases what it reserved and ends as if it had not been killed', async () => {
  for (let commits = 1; commits < 12; commits += 1) {
    const world = createWorld();
    const graph = booking(world);
    const bench = benchOf(graph);
    await runToRest(bench.engine, graph, {}, 'r');
    await bench.engine.close();
    const end = await liveUntil(bench, commits - 1, async (engine) => {
      await engine.cancel('r', request);
      return (await engine.resume('r', { graph })).result();
    });
    if (end !== undefined) {
      if (commits > 3) return;
      throw new Error('it came to its end too early');
    }
    const next = afterCrash(bench);
    if ((await next.inspect('r')).status === 'paused') await next.cancel('r', request);
    const handle = await next.resume('r', { graph }).catch(() => undefined);
    if (handle !== undefined) await within('it ends', handle.result());
    const { status, state } = await next.inspect('r');
    expect([commits, status, state.outputs['release'], world.reserved.size]).toEqual([
      commits,
      'cancelled',
      'released',
      0,
    ]);
    expect(world.calls.filter((call) => call === 'pay')).toEqual([]);
  }
  throw new Error('it never came to its end without a kill');
});

test('E7.4 a worker goes on with a cancelled run whose canceller does not know its graph', async () => {
  const world = createWorld();
  const graph = booking(world);
  const bench = benchOf(graph);
  await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.close();
  const ignorant = createEngine({ ...bench.options, findGraph: () => undefined });
  await ignorant.cancel('r', request);
  expect((await bench.store.readRun({ tenant: 'default', runId: 'r' }))?.status).toBe('cancelling');
  const worker = createEngine(bench.options);
  expect(await worker.listClaimable({ limit: 5 })).toEqual(['r']);
  const [taken] = await worker.takeUp({ limit: 5 });
  await within('it ends', (await taken?.handle)?.result() ?? Promise.reject(new Error('not taken')));
  expect([(await worker.inspect('r')).status, world.calls]).toEqual(['cancelled', ['reserve', released]]);
});

test('E7.4 an onCancel that cannot work is refused when the graph is compiled', () => {
  expect(refusedBy({ onCancel: 'after' })).toBeUndefined();
  expect(refusedBy({ onCancel: 'none' })).toContain('E7');
  expect(refusedBy({ onCancel: 7 })).toContain('E7');
  expect(refusedBy({ onCancel: 'after' }, 'a > after')).toContain('E7');
  expect(refusedBy({ onCancel: 'after' }, 'after > a')).toContain('E7');
});
