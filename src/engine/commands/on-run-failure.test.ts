/** When a run has failed, the node that its graph names for it runs once before the run stands failed, whatever happens to its process (E7.5). */
import { expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext, RunFailure } from '../../graph/contracts/node-contract.ts';
import { afterCrash, changesOf, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { benchOf, liveUntil, refusedBy } from '../../../test/follow-up-kit.ts';
import { within } from '../../../test/support/awaited.ts';

interface World {
  /** Ids of what is reserved, by the key under which it was. */
  readonly reserved: Map<string, string>;
  /** The keys under which somebody was told, and of what. */
  readonly told: Map<string, RunFailure | undefined>;
  isBroken: boolean;
}

const createWorld = (): World => ({ reserved: new Map(), told: new Map(), isBroken: true });

/** Reserves, fails to pay, and after that releases what it reserved. */
function booking(world: World, release: (ctx: NodeContext) => unknown = () => undefined): Graph {
  return graphOf(
    'booking',
    [
      node('reserve', 'external', ({ idempotencyKey }) => world.reserved.set(idempotencyKey, 'seat 4').size, {
        idempotent: true,
      }),
      node(
        'pay',
        'external',
        () => {
          if (world.isBroken) throw Object.assign(new Error('no money'), { code: 'CARD_DECLINED', applied: 'no' });
          return 'paid';
        },
        { retry: { attempts: 2 }, idempotent: true },
      ),
      node(
        'release',
        'external',
        async (ctx) => {
          world.told.set(ctx.idempotencyKey, ctx.failure);
          world.reserved.clear();
          await release(ctx);
          return 'released';
        },
        { idempotent: true },
      ),
    ],
    edges('> reserve', 'reserve > pay', 'pay >'),
    { policies: { onRunFailure: 'release' } },
  );
}

test('E7.5 after the last attempt the node runs once, with the failure, before the run stands failed', async () => {
  const world = createWorld();
  const graph = booking(world);
  const bench = benchOf(graph);
  const result = await runToRest(bench.engine, graph, {}, 'r');
  expect([result.status, result.failed, result.error?.message, result.state.outputs['release']]).toEqual([
    'failed',
    ['pay'],
    'node pay failed: no money',
    'released',
  ]);
  expect([...world.told.values()]).toEqual([
    { code: 'CARD_DECLINED', message: 'no money', node: 'pay', errors: { pay: expect.any(Error) } },
  ]);
  expect(world.reserved.size).toBe(0);
  expect((await changesOf(bench.engine, 'r')).slice(-3)).toEqual([
    'settle pay + fail',
    'intent release',
    'settle release + end',
  ]);
  expect((await bench.engine.inspect('r')).skipped).toEqual([]);
});

test('E7.5 a run that completes or is cancelled does not run the node', async () => {
  const world = createWorld();
  world.isBroken = false;
  const graph = booking(world);
  const bench = benchOf(graph);
  expect((await runToRest(bench.engine, graph, {}, 'r')).status).toBe('completed');
  await bench.engine.start(graph, {}, { runId: 'c', detach: true });
  await bench.engine.cancel('c');
  expect([(await bench.engine.inspect('c')).status, world.told.size]).toEqual(['cancelled', 0]);
});

test('E7.5 a resume tries what failed; if the run fails again the node runs again, under another key', async () => {
  const world = createWorld();
  const graph = booking(world);
  const bench = benchOf(graph);
  await runToRest(bench.engine, graph, {}, 'r');
  expect((await resumeToRest(bench.engine, 'r', graph)).status).toBe('failed');
  expect(world.told.size).toBe(2);
  world.isBroken = false;
  const done = await resumeToRest(bench.engine, 'r', graph);
  expect([done.status, done.state.outputs['pay'], done.state.outputs['release'], world.told.size]).toEqual([
    'completed',
    'paid',
    undefined,
    2,
  ]);
});

test('E7.5 a node that fails itself leaves the run failed by what it failed by before', async () => {
  const world = createWorld();
  const graph = booking(world, () => {
    throw Object.assign(new Error('the desk is closed'), { applied: 'no' });
  });
  const bench = benchOf(graph);
  const failed = await runToRest(bench.engine, graph, {}, 'r');
  expect([failed.status, failed.error?.message, failed.failed.toSorted()]).toEqual([
    'failed',
    'node pay failed: no money',
    ['pay', 'release'],
  ]);
  world.isBroken = false;
  const done = await resumeToRest(bench.engine, 'r', graph);
  expect([done.status, done.failed]).toEqual(['completed', []]);
});

test('E7.5 a question of the node is asked, and the run stands failed when it is answered', async () => {
  const world = createWorld();
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => {
        throw new Error('no');
      }),
      node('tell', 'read', (ctx) => ctx.ask({ prompt: 'What now?' })),
    ],
    edges('> a', 'a >'),
    { policies: { onRunFailure: 'tell' } },
  );
  const bench = benchOf(graph);
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect([paused.status, paused.waits.map(({ prompt }) => prompt)]).toEqual(['paused', ['What now?']]);
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'nothing');
  const failed = await resumeToRest(bench.engine, 'r', graph);
  expect([failed.status, failed.state.outputs['tell'], world.told.size]).toEqual(['failed', 'nothing', 0]);
});

test('E7.5 what waited when the run failed waits on after a resume', async () => {
  let isBroken = true;
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Go?' })),
      node('a', 'read', async (ctx) => {
        await ctx.receive('go');
        if (isBroken) throw new Error('no');
      }),
      node('tell', 'pure', () => 'told'),
    ],
    edges('> ask', '> a', 'ask >', 'a >'),
    { policies: { onRunFailure: 'tell' } },
  );
  const bench = benchOf(graph);
  await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.signal('r', 'go', 1);
  const failed = await resumeToRest(bench.engine, 'r', graph);
  expect([failed.status, failed.state.outputs['tell'], await bench.engine.waits('r')]).toEqual(['failed', 'told', []]);
  isBroken = false;
  const paused = await resumeToRest(bench.engine, 'r', graph);
  expect([paused.status, paused.waits.map(({ prompt }) => prompt)]).toEqual(['paused', ['Go?']]);
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(bench.engine, 'r', graph)).status).toBe('completed');
});

test('E7.5 a cancel of a run whose node runs cancels it, and its own node follows', async () => {
  const calls: string[] = [];
  const begun = Promise.withResolvers<void>();
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => {
        throw new Error('no');
      }),
      node('tell', 'read', async (ctx) => {
        begun.resolve();
        await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
        throw new Error('stopped');
      }),
      node('undo', 'pure', ({ cancel, failure }) => calls.push(`undo ${cancel?.reason} ${failure?.message}`)),
    ],
    edges('> a', 'a >'),
    { policies: { onRunFailure: 'tell', onCancel: 'undo' } },
  );
  const { engine } = benchOf(graph);
  const handle = await engine.start(graph, {}, { runId: 'r' });
  await within('it tells', begun.promise);
  await engine.cancel('r', { reason: 'enough' });
  expect([(await within('it ends', handle.result())).status, calls]).toEqual(['cancelled', ['undo enough undefined']]);
});

test('E7.5 a fork of a failed run goes on as if what follows had not begun', async () => {
  const world = createWorld();
  const graph = booking(world);
  const bench = benchOf(graph);
  const { seq } = await runToRest(bench.engine, graph, {}, 'r');
  world.isBroken = false;
  for (const at of [seq, seq - 1, seq - 2]) {
    const { runId } = await bench.engine.fork({ runId: 'r', seq: at });
    const done = await resumeToRest(bench.engine, runId, graph);
    expect([at, done.status, done.state.outputs['release']]).toEqual([at, 'completed', undefined]);
  }
});

const isToldOnce = (world: World): void => {
  expect([world.reserved.size, world.told.size]).toEqual([0, 1]);
};

test('E7.5 P1 killed at any commit, a failed run releases what it reserved, once by its key, and stands failed', async () => {
  for (let commits = 0; commits < 15; commits += 1) {
    const world = createWorld();
    const graph = booking(world);
    const bench = benchOf(graph);
    const end = await liveUntil(bench, commits, (engine) => runToRest(engine, graph, {}, 'r'));
    const next = afterCrash(bench);
    const handle = await next.resume('r', { graph, retryFailed: false });
    const { status, error, state } = await within('it ends', handle.result());
    expect([commits, status, error?.message, state.outputs['release']]).toEqual([
      commits,
      'failed',
      'node pay failed: no money',
      'released',
    ]);
    isToldOnce(world);
    if (end !== undefined && commits > 3) return;
    if (end !== undefined) throw new Error('it came to its end too early');
  }
  throw new Error('it never came to its end without a kill');
});

test('E7.5 an onRunFailure that cannot work is refused when the graph is compiled', () => {
  expect(refusedBy({ onRunFailure: 'after' })).toBeUndefined();
  expect(refusedBy({ onRunFailure: 'none' })).toContain('E7');
  expect(refusedBy({ onRunFailure: 'after' }, 'a > after')).toContain('E7');
  expect(refusedBy({ onRunFailure: 'after', onCancel: 'after' })).toContain('E7');
});
