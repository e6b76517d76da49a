/** Parts of a node's work that wait keep no others from being done (W2, W4). */
import { describe, expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { runParts, type PartsOptions } from '../../graph/run-parts.ts';
import { mapNode } from '../../nodes/index.ts';
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
    const paused = await runToRest(createBench().engine, parted(inChild, { atOnce: 1, keepsPlace: true }));
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
