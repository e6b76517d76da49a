/** Parts of a node's work that wait keep no others from being done (W2, W4). */
import { describe, expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import { NodeFailure, type NodeContext } from '../../graph/contracts/node-contract.ts';
import type { RunResult } from '../api.ts';
import { killedInEffect, settleDown } from '../../../test/dying-engine.ts';
import { runParts, type PartsOptions } from '../../graph/run-parts.ts';
import { mapNode } from '../../nodes/builders.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

const items = Array.from({ length: 20 }, (_, index) => index);
const links = edges('> a', 'a >');
const child = graphOf(
  'c',
  [
    node('before', 'pure', () => 1),
    node('ask', 'human', (ctx) => ctx.ask({ prompt: String(ctx.input) })),
    node('beside', 'pure', () => new Promise((resolve) => setImmediate(resolve))),
  ],
  edges('> before', 'before > ask', 'before > beside', 'ask >', 'beside >'),
);

/** Twenty parts, three at once, whose work is given. */
function parted(
  work: (part: NodeContext, item: number) => Promise<unknown>,
  options: Partial<PartsOptions> = {},
): Graph {
  const run = async (ctx: NodeContext): Promise<unknown> => {
    const done: unknown[] = [];
    await runParts(ctx, items, { atOnce: 3, ...options }, async (part, item) => {
      done.push(await work(part, item));
      return true;
    });
    return done.length;
  };
  return graphOf('g', [node('a', 'read', run)], links);
}

const inChild = async (part: NodeContext, item: number): Promise<unknown> =>
  part.run(child, item, { name: `i${item}` });
const inGrandchild = async (part: NodeContext, item: number): Promise<unknown> =>
  part.run(graphOf('m', [node('x', 'read', (ctx) => ctx.run(child, item))], edges('> x', 'x >')), item, {
    name: `i${item}`,
  });

describe('W2 parts that wait', () => {
  test.each<[string, (part: NodeContext, item: number) => Promise<unknown>, string]>([
    ['ask', (part, item) => part.ask({ name: `q${item}`, prompt: '?' }), 'question'],
    ['sleep', (part, item) => part.sleepUntil(1e15, `s${item}`), 'timer'],
    ['wait for signals', (part, item) => part.receive(`s${item}`), 'signal'],
    [
      'wait for a distant attempt',
      (part, item) =>
        part.step(`s${item}`, { retry: { attempts: 2, delayMs: 60_000 } }, () => Promise.reject(new Error('no'))),
      'retry',
    ],
    ['run children that ask', inChild, 'question'],
    ['run children of children that ask', inGrandchild, 'question'],
    [
      'ask after a step',
      async (part, item) => {
        await part.step(`s${item}`, {}, () => new Promise((resolve) => setImmediate(resolve)));
        return part.ask({ name: `q${item}`, prompt: '?' });
      },
      'question',
    ],
  ])('W2 all do so though three are done at once: %s', async (_, work, kind) => {
    const bench = createBench();
    const graph = parted(work);
    const paused = await runToRest(bench.engine, graph);
    expect([paused.status, paused.waits.length, paused.waits[0]?.kind]).toEqual(['paused', 20, kind]);
    const again = await resumeToRest(afterCrash(bench), paused.runId, graph);
    expect(again.waits.map(({ waitId }) => waitId).toSorted()).toEqual(
      paused.waits.map(({ waitId }) => waitId).toSorted(),
    );
  });

  test('W4 no more than three are at work at once, and all end when they are answered', async () => {
    const bench = createBench();
    let [atWork, most] = [0, 0];
    const graph = parted(async (part, item) => {
      await part.step(`s${item}`, {}, async () => {
        most = Math.max(most, (atWork += 1));
        await new Promise((resolve) => setImmediate(resolve));
        atWork -= 1;
      });
      return item % 2 === 0 ? part.ask({ name: `q${item}`, prompt: '?' }) : item;
    });
    const paused = await runToRest(bench.engine, graph);
    expect([paused.waits.length, most]).toEqual([10, 3]);
    for (const { waitId } of paused.waits) await bench.engine.answer(paused.runId, waitId, 'yes');
    expect((await resumeToRest(bench.engine, paused.runId, graph)).state.outputs['a']).toBe(20);
  });

  test('W4 one after the other, a part that waits keeps its place', async () => {
    const paused = await runToRest(createBench().engine, parted(inChild, { atOnce: 1, keepsPlace: 'always' }));
    expect(paused.waits).toHaveLength(1);
  });

  test('W2 a map over a graph whose runs ask has all its questions open', async () => {
    const graph = graphOf('g', [{ id: 'a', ...mapNode({ over: () => items, each: child, concurrency: 2 }) }], links);
    const bench = createBench();
    const paused = await runToRest(bench.engine, graph);
    expect(paused.waits).toHaveLength(20);
    for (const { waitId } of paused.waits) await bench.engine.answer(paused.runId, waitId, 'yes');
    expect((await resumeToRest(afterCrash(bench), paused.runId, graph)).status).toBe('completed');
  });
});

/** A map whose first item is in doubt after a crash, and what its items do; by default each of them one effect. */
async function doubtful(
  config: { readonly concurrency: number; readonly continueOnError?: boolean },
  isChild: boolean,
): Promise<{ readonly begun: readonly number[]; readonly end: (answer: string) => Promise<RunResult> }> {
  const begun: number[] = [];
  const make = (effect: () => unknown): Graph => {
    const act = (item: number): unknown => (item === 0 ? effect() : begun.push(item));
    const one = graphOf('one', [node('act', 'external', (ctx) => act(ctx.input as number))], edges('> act', 'act >'));
    const shared = { over: () => [0, 1, 2], ...config };
    const map = isChild
      ? mapNode({ ...shared, each: one as never })
      : mapNode({ ...shared, effectClass: 'external', each: ({ item }) => act(item) });
    return graphOf('g', [{ id: 'a', ...map }], links);
  };
  const { bench, graph } = await killedInEffect(make);
  const { waits } = await resumeToRest(afterCrash(bench), 'r', graph);
  expect(waits.map(({ kind }) => kind)).toEqual(['doubt']);
  const end = async (answer: string): Promise<RunResult> => {
    await bench.engine.answer('r', waits[0]?.waitId ?? '', answer);
    return resumeToRest(afterCrash(bench), 'r', graph);
  };
  return { begun, end };
}

describe.each([
  ['step', false],
  ['child run', true],
])('W2.5 an item in doubt that is a %s', (_, isChild) => {
  test('P1 keeps its place where its failure would be the end of the map', async () => {
    const { begun, end } = await doubtful({ concurrency: 1 }, isChild);
    expect(begun).toEqual([]);
    const failed = await end('fail');
    expect([failed.status, begun]).toEqual(['failed', []]);
  });

  test('lets the others go on when it is decided', async () => {
    const { begun, end } = await doubtful({ concurrency: 1 }, isChild);
    expect([(await end('happened')).status, begun]).toEqual(['completed', [1, 2]]);
  });

  test('gives its place to the others where failures are gathered', async () => {
    const { begun, end } = await doubtful({ concurrency: 1, continueOnError: true }, isChild);
    expect(begun).toEqual([1, 2]);
    expect((await end('fail')).state.outputs['a']).toMatchObject([
      { status: 'failed' },
      { status: 'completed' },
      { status: 'completed' },
    ]);
  });
});

const askAtOnce = node('ask', 'human', (ctx) => ctx.ask({ prompt: String(ctx.input) }));

test.each([
  ['an item whose only node asks', graphOf('c', [askAtOnce], edges('> ask', 'ask >'))],
  [
    'an item whose last node beside its question ends at once',
    graphOf(
      'c',
      [askAtOnce, node('slow', 'pure', () => settleDown()), node('last', 'pure', () => 1)],
      edges('> ask', '> slow', 'slow > last', 'ask >', 'last >'),
    ),
  ],
])('W2.5 %s lets the next one begin before the run pauses', async (_, each) => {
  const map = mapNode({ over: () => items, each, concurrency: 1 });
  const paused = await runToRest(createBench().engine, graphOf('g', [{ id: 'a', ...map }], links));
  expect(paused.waits).toHaveLength(20);
});

test('N16 an item that was answered is finished though another fails first when the map is repeated', async () => {
  const done: unknown[] = [];
  const work = graphOf(
    'c',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: String(ctx.input) })),
      node('act', 'external', (ctx) => {
        done.push(ctx.input);
        if (ctx.input === 0) throw new NodeFailure('no', { code: 'NO' });
      }),
    ],
    edges('> ask', 'ask > act', 'act >'),
  );
  const graph = graphOf('g', [{ id: 'a', ...mapNode({ over: () => [0, 1], each: work, concurrency: 1 }) }], links);
  const bench = createBench();
  const paused = await runToRest(bench.engine, graph);
  expect(paused.waits).toHaveLength(2);
  for (const { waitId } of paused.waits) await bench.engine.answer(paused.runId, waitId, 'yes');
  const { status, error } = await resumeToRest(afterCrash(bench), paused.runId, graph);
  expect([status, done]).toEqual(['failed', [0, 1]]);
  expect(error?.cause).toMatchObject({ code: 'ITEM_FAILED', data: { failed: ['0'], count: 1 } });
});

test('X4 a part that says so is the last to begin, and a part that throws ends them all', async () => {
  const begun: number[] = [];
  const stopping = graphOf(
    'g',
    [
      node('a', 'read', (ctx) =>
        runParts(ctx, items, { atOnce: 2 }, async (_, item) => {
          begun.push(item);
          await new Promise((resolve) => setImmediate(resolve));
          return item < 3;
        }),
      ),
    ],
    links,
  );
  expect((await runToRest(createBench().engine, stopping)).status).toBe('completed');
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  const throwing = graphOf(
    'g',
    [node('a', 'read', (ctx) => runParts(ctx, [1], { atOnce: 1 }, () => Promise.reject(new Error('no part'))))],
    links,
  );
  expect((await runToRest(createBench().engine, throwing)).error?.message).toContain('no part');
});
