/** What attempts cost: said by steps and nodes, recorded with the end of the attempt, added up for visits and runs. */
import { expect, test } from 'vitest';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
  rowOf,
  type Bench,
} from '../../../test/engine-kit.ts';
import { CairnError } from '../../errors.ts';
import { NodeFailure, type NodeContext } from '../../graph/contracts/node-contract.ts';
import { loadState } from '../../history/load/load.ts';
import type { RunTree } from '../../state/tree.ts';
import type { ChangePart } from '../../history/stored/change.ts';

async function treeOf(bench: Bench, runId: string): Promise<RunTree> {
  const { store, blobs } = bench.options;
  return (await loadState(store, blobs, await rowOf(bench, runId))).root;
}

async function partsOf({ engine }: Bench, runId: string): Promise<readonly (readonly ChangePart[])[]> {
  const changes: (readonly ChangePart[])[] = [];
  for await (const event of engine.events(runId)) if (event.type === 'checkpoint') changes.push(event.change);
  return changes;
}

const one = (run: (ctx: NodeContext) => unknown, more = {}): ReturnType<typeof graphOf> =>
  graphOf('g', [node('a', 'read', run, more)], edges('> a', 'a >'));

test('Q1 a step and a plain node say what they cost, and it is in the record of the step, of the visit and of the run', async () => {
  const graph = graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        await ctx.step('ask', {}, (step) => {
          step.spend({ tokens: 1200, usd: 0.1 });
          step.spend({ usd: 0.2 });
          return 1;
        });
        ctx.spend({ tokens: 5 });
      }),
      node('b', 'external', (ctx) => {
        ctx.spend({ tokens: 7, calls: 1 });
        return ctx.spent;
      }),
    ],
    edges('> a', 'a > b', 'b >'),
  );
  const bench = createBench({ findGraph: () => graph });
  const { state, spent } = await runToRest(bench.engine, graph, {}, 'r');
  expect(state.outputs['b']).toEqual({ tokens: 1205, usd: 0.3 });
  expect(spent).toEqual({ tokens: 1212, usd: 0.3, calls: 1 });
  const { frame } = await treeOf(bench, 'r');
  expect([frame.spent, frame.nodes['a']?.spent, frame.nodes['b']?.spent]).toEqual([
    { tokens: 1212, usd: 0.3, calls: 1 },
    { tokens: 1205, usd: 0.3 },
    { tokens: 7, calls: 1 },
  ]);
  const parts = (await partsOf(bench, 'r')).flat();
  const costs = parts
    .filter(({ spent: cost }) => cost !== undefined)
    .map(({ kind, node: path, step, spent: cost }) => [kind, path, step, cost]);
  expect(costs).toEqual([
    ['step', ['a'], 'ask', { tokens: 1200, usd: 0.3 }],
    ['settle', ['a'], undefined, { tokens: 1205, usd: 0.3 }],
    ['settle', ['b'], undefined, { tokens: 7, calls: 1 }],
  ]);
});

test('Q1 what an attempt cost is in the same checkpoint as its end', async () => {
  const bench = createBench();
  const graph = one(async (ctx) => {
    await ctx.step('x', {}, (step) => step.spend({ tokens: 3 }));
    await ctx.ask({ prompt: 'Go on?' });
  });
  await runToRest(bench.engine, graph, {}, 'r');
  const row = await rowOf(bench, 'r');
  const seen: unknown[] = [];
  for (let seq = 0; seq <= row.head; seq += 1) {
    const { root } = await loadState(bench.options.store, bench.options.blobs, row, seq);
    const record = root.frame.nodes['a'];
    seen.push([record?.steps?.['x']?.status, record?.steps?.['x']?.spent, record?.spent, root.frame.spent]);
  }
  const known = { tokens: 3 };
  expect(new Set(seen.map((line) => JSON.stringify(line)))).toEqual(
    new Set([
      JSON.stringify([undefined, undefined, undefined, undefined]),
      JSON.stringify(['done', known, known, known]),
    ]),
  );
});

test.each([
  ['a step', 1, async (ctx: NodeContext) => ctx.step('x', { retry: { attempts: 3, delayMs: 1 } }, paid)],
  ['a node', 3, (ctx: NodeContext) => paid(ctx)],
] as const)('Q1 failed attempts of %s were paid too, whether or not they are tried again', async (_, attempts, run) => {
  const bench = createBench();
  const graph = one(run, { retry: { attempts, delayMs: 1 } });
  const { status, spent } = await runToRest(bench.engine, graph, {}, 'r');
  expect([status, spent]).toEqual(['failed', { tokens: 30 }]);
  expect((await treeOf(bench, 'r')).frame.nodes['a']?.spent).toEqual({ tokens: 30 });
  // A resume makes three more.
  const again = await resumeToRest(bench.engine, 'r', graph);
  expect([again.status, again.spent]).toEqual(['failed', { tokens: 60 }]);
});

const paid = (attempt: { readonly spend: NodeContext['spend'] }): void => {
  attempt.spend({ tokens: 10 });
  throw new NodeFailure('no');
};

test('Q1 a timed-out attempt, and one that a join needs no more, have cost what they said', async () => {
  const bench = createBench();
  const forever = (ctx: NodeContext): Promise<void> =>
    new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('stopped'))));
  const graph = graphOf(
    'g',
    [
      node('late', 'read', (ctx) => ctx.step('x', {}, (step) => (step.spend({ tokens: 2 }), forever(ctx))), {
        timeoutMs: 50,
        onFailure: 'continue',
      }),
      node('fast', 'read', async (ctx) => ctx.step('y', {}, () => 1)),
      node('slow', 'read', (ctx) => (ctx.spend({ tokens: 4 }), forever(ctx))),
      node('end', 'pure', () => 'end', { join: { first: 1, cancelRest: true } }),
    ],
    edges('> late', '> fast', '> slow', 'late >', 'fast > end', 'slow > end', 'end >'),
  );
  const { status, spent } = await runToRest(bench.engine, graph, {}, 'r');
  expect([status, spent]).toEqual(['completed', { tokens: 6 }]);
});

test('Q1 a cancelled run has cost what was said before it was cancelled', async () => {
  const bench = createBench();
  const begun = Promise.withResolvers<void>();
  const graph = one(
    (ctx) =>
      new Promise((_, reject) => {
        ctx.spend({ tokens: 9 });
        ctx.signal.addEventListener('abort', () => reject(new Error('stopped')));
        begun.resolve();
      }),
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  await begun.promise;
  await bench.engine.cancel('r');
  const { status, spent } = await handle.result();
  expect([status, spent]).toEqual(['cancelled', { tokens: 9 }]);
});

test('Q1 a function that waits and runs again says again what it spent outside of steps, and it counts once', async () => {
  const bench = createBench();
  const graph = one(async (ctx) => {
    ctx.spend({ tokens: 1 });
    await ctx.step('x', {}, (step) => step.spend({ tokens: 10 }));
    await ctx.save('half');
    await ctx.ask({ prompt: 'more?' });
    ctx.spend({ tokens: 100 });
  });
  const saved = graphOf(
    'g',
    [
      node('a', 'read', async (ctx) =>
        ctx.savedState === undefined
          ? graph.nodes[2]?.implementation.run(ctx)
          : (await ctx.ask({ prompt: 'more?' }), ctx.spend({ tokens: 100 })),
      ),
    ],
    edges('> a', 'a >'),
  );
  const paused = await runToRest(bench.engine, saved, {}, 'r');
  expect([paused.status, paused.spent]).toEqual(['paused', { tokens: 11 }]);
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const { status, spent } = await resumeToRest(afterCrash(bench), 'r', saved);
  expect([status, spent]).toEqual(['completed', { tokens: 111 }]);
});

test('Q2 what a child run spends is spent by the node that runs it and by its run', async () => {
  const bench = createBench();
  const child = graphOf('child', [node('c', 'pure', (ctx) => ctx.spend({ usd: 0.5 }))], edges('> c', 'c >'));
  const graph = one(async (ctx) => {
    await ctx.run(child, {});
    await ctx.run(child, {});
    return ctx.spent;
  });
  const { spent, state } = await runToRest(bench.engine, graph, {}, 'r');
  expect([spent, state.outputs['a']]).toEqual([{ usd: 1 }, {}]);
  expect((await treeOf(bench, 'r')).frame.nodes['a']?.spent).toEqual({ usd: 1 });
});

test('Q2 sums are the same number live and read back, and decimals do not drift', async () => {
  const bench = createBench();
  const graph = one(async (ctx) => {
    for (let index = 0; index < 100; index += 1) await ctx.step(`s${index}`, {}, (step) => step.spend({ usd: 0.1 }));
    await ctx.ask({ prompt: 'half' });
    for (let index = 0; index < 100; index += 1) await ctx.step(`t${index}`, {}, (step) => step.spend({ usd: 0.1 }));
  });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect(paused.spent).toEqual({ usd: 10 });
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(afterCrash(bench), 'r', graph)).spent).toEqual({ usd: 20 });
});

test.each([
  [{ tokens: -1 }, 'tokens is -1'],
  [{ tokens: Number.NaN }, 'tokens is NaN'],
  [{ tokens: Number.POSITIVE_INFINITY }, 'tokens is Infinity'],
  [{ '1st': 1 }, '"1st" is no name of a unit'],
  [JSON.parse('{ "__proto__": 1 }'), 'is no name of a unit'],
  [[1], 'amounts are an object'],
  [Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`u${index}`, 1])), '64 units apart'],
] as const)('Q1 amounts that are none are refused: %j', async (amounts, reason) => {
  const bench = createBench();
  const calls = [
    one((ctx) => ctx.spend(amounts as never)),
    one((ctx) => ctx.step('x', {}, (step) => step.spend(amounts as never))),
  ];
  for (const graph of calls) {
    const { error, spent } = await runToRest(bench.engine, graph);
    expect([error?.code, error?.message.includes(reason), spent]).toEqual(['NODE_FAILED', true, {}]);
  }
});

test('Q1 an attempt that is over spends nothing any more', async () => {
  const bench = createBench();
  const kept: (() => void)[] = [];
  const graph = one(async (ctx) => {
    await ctx.step('x', {}, (step) => void kept.push(() => step.spend({ tokens: 1 })));
    kept.push(() => ctx.spend({ tokens: 1 }));
    expect(kept[0]).toThrow(CairnError);
  });
  const { status, spent } = await runToRest(bench.engine, graph);
  expect([status, spent, kept.length]).toEqual(['completed', {}, 2]);
  for (const late of kept) expect(late).toThrow(/attempt is over/);
});

test('Q3 a fork begins with what was spent at its fork point, and counts what it takes over as saved', async () => {
  const graph = graphOf(
    'g',
    [
      node('a', 'external', (ctx) => ctx.spend({ usd: 1 })),
      node('b', 'external', (ctx) => (ctx.spend({ usd: 2 }), 'b')),
      node('c', 'read', async (ctx) => {
        await ctx.step('x', { effect: 'external', idempotent: true }, (step) => step.spend({ usd: 4 }));
        await ctx.step('y', { effect: 'read' }, (step) => step.spend({ usd: 8 }));
      }),
    ],
    edges('> a', 'a > b', 'b > c', 'c >'),
  );
  const bench = createBench({ findGraph: () => graph });
  const done = await runToRest(bench.engine, graph, {}, 'r');
  expect([done.spent, done.saved]).toEqual([{ usd: 15 }, {}]);
  const settled = (await partsOf(bench, 'r')).findIndex((parts) => parts.some(({ kind }) => kind === 'settle'));
  const { runId } = await bench.engine.fork({ runId: 'r', seq: settled }, { runId: 'f' });
  expect((await bench.engine.inspect('f')).spent).toEqual({ usd: 1 });
  const fork = await resumeToRest(bench.engine, runId, graph);
  // `b` and the step `x` are taken over; the step that reads is made again.
  expect([fork.spent, fork.saved]).toEqual([{ usd: 9 }, { usd: 6 }]);
  const { frame } = await treeOf(bench, 'f');
  expect([frame.nodes['b']?.spent, frame.nodes['b']?.spared]).toEqual([undefined, { usd: 2 }]);
  expect([frame.nodes['c']?.spent, frame.nodes['c']?.spared]).toEqual([{ usd: 8 }, { usd: 4 }]);
  // A fork of the fork saves what was paid two runs before.
  await bench.engine.fork({ runId: 'f', seq: settled }, { runId: 'ff' });
  const again = await resumeToRest(bench.engine, 'ff', graph);
  expect([again.spent, again.saved]).toEqual([{ usd: 9 }, { usd: 6 }]);
});

test('Q3 an attempt that failed before the fork point is in what the fork begins with', async () => {
  let lost = true;
  const begun = Promise.withResolvers<void>();
  const graph = one((ctx) =>
    ctx.step('x', { effect: 'external', retry: { attempts: 2, delayMs: 1 }, idempotent: true }, (step) => {
      step.spend({ usd: 3 });
      if (step.attempt === 1) throw new NodeFailure('once');
      begun.resolve();
      return lost ? new Promise(() => {}) : 'done';
    }),
  );
  const bench = createBench({ findGraph: () => graph });
  const first = await bench.engine.start(graph, {}, { runId: 'r' });
  await begun.promise;
  await bench.engine.close();
  await first.result().catch(() => {});
  lost = false;
  const other = { ...bench, engine: afterCrash(bench) };
  const row = await rowOf(bench, 'r');
  await other.engine.fork({ runId: 'r', seq: row.head }, { runId: 'f' });
  // The attempt that failed was spent before the fork point; the one that was lost is made again under its key.
  const done = await resumeToRest(other.engine, 'f', graph);
  expect([done.status, done.spent, done.saved]).toEqual(['completed', { usd: 6 }, {}]);
});
