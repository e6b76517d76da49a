/** Input and state that miss their schemas; conditions, choices and reducers that fail (G6, C1). */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { GraphDefinition } from '../../src/graph/graph.ts';
import { outcome, type NodeContext, type OutcomeParts } from '../../src/graph/contracts/node-contract.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';

type Graph = ReturnType<typeof graphOf>;
const single = (run: (ctx: NodeContext) => unknown, more: Partial<GraphDefinition>): Graph =>
  graphOf('g', [node('a', 'pure', run)], edges('> a', 'a >'), more);

const person = z.object({ name: z.string(), address: z.object({ city: z.string(), lines: z.array(z.string()) }) });
const schemas = {
  scratch: z.object({ count: z.number().default(7), list: z.array(z.string()), who: person, any: z.string() }),
};
const reducers = {
  'scratch.list': 'append',
  'scratch.who': 'merge',
  'scratch.any': { name: 'join', reduce: (current: unknown, update: unknown) => `${String(current)}${String(update)}` },
} as const;

test('C1 defaults of the schemas are there before the first node, and updates that fit are taken', async () => {
  const { engine } = createBench();
  const graph = single(
    (ctx) =>
      outcome({
        output: ctx.state.scratch['count'],
        scratch: { list: 'one', who: { address: { lines: ['x'] } }, any: 1, count: 8 },
      }),
    { schemas, reducers },
  );
  const done = await runToRest(engine, graph);
  expect(done.state.outputs['a']).toBe(7);
  expect(done.state.scratch).toMatchObject({ count: 8, list: ['one'], who: { address: { lines: ['x'] } } });
});

test.each<[string, OutcomeParts, string, string]>([
  ['of another type', { scratch: { count: 'many' } }, 'STATE_INVALID', 'scratch.count'],
  ['of an item of another type', { scratch: { list: 7 } }, 'STATE_INVALID', 'scratch.list'],
  ['of a list with a wrong item', { scratch: { list: ['a', 7] } }, 'STATE_INVALID', 'scratch.list.1'],
  [
    'of a part of a merged object',
    { scratch: { who: { address: { city: 7 } } } },
    'STATE_INVALID',
    'scratch.who.address.city',
  ],
  [
    'of a leaf of a merged object',
    { scratch: { who: { address: { lines: [7] } } } },
    'STATE_INVALID',
    'scratch.who.address.lines.0',
  ],
  ['of what is no object at all', { scratch: { who: 'ada' } }, 'STATE_INVALID', 'scratch.who'],
  ['of a channel that is none', { scratch: { cuont: 1 } }, 'STATE_UNKNOWN_CHANNEL', 'scratch.cuont'],
])('P6 an update %s fails its node with the path', async (_, parts, code, path) => {
  const { engine } = createBench();
  const failed = await runToRest(
    engine,
    single(() => outcome(parts), { schemas, reducers }),
  );
  expect(failed.error?.cause).toMatchObject({ code, message: expect.stringContaining(path) });
});

test('P6 input that misses its schema is refused with every path, at once or later, in a child run too', async () => {
  const { engine, store } = createBench();
  const input = z.object({ count: z.number(), deep: z.object({ name: z.string() }) });
  const both = { code: 'INPUT_INVALID', message: expect.stringMatching(/count: .*deep\.name: /) };
  const graph = single(() => 1, { schemas: { input } });
  await expect(engine.start(graph, { count: 'x', deep: {} })).rejects.toMatchObject(both);
  const later = single(() => 1, { schemas: { input: input.refine(async () => true) } });
  await expect(engine.start(later, { count: 'x', deep: {} })).rejects.toMatchObject(both);
  expect((await (await engine.start(later, { count: 1, deep: { name: 'n' } })).result()).status).toBe('completed');
  const parent = graphOf(
    'p',
    [node('a', 'read', (ctx) => ctx.run(graph, { count: 'x', deep: {} }))],
    edges('> a', 'a >'),
  );
  expect((await runToRest(engine, parent)).error?.cause).toMatchObject(both);
  expect((await store.listRuns({ tenant: 'default' })).rows).toHaveLength(2);
});

const boom = (): never => {
  throw new Error('boom');
};
const failing = { text: 'boom', evaluate: boom };

test('G6 a condition or a choice that throws, or names what is none, fails its node and keeps the outcome', async () => {
  const cases = [
    [{ condition: failing }, 'CONDITION_FAILED', 'boom'],
    [{ choice: { text: 'boom', choose: boom } }, 'CONDITION_FAILED', 'boom'],
    [{ choice: { text: 'none', choose: () => 'nowhere' } }, 'ROUTE_UNKNOWN', 'nowhere'],
    [{ choice: { text: 'nones', choose: () => ['b', 'nowhere'] } }, 'ROUTE_UNKNOWN', 'nowhere'],
  ] as const;
  for (const [more, code, word] of cases) {
    const { engine } = createBench();
    let runs = 0;
    const graph = (edge: object): Graph =>
      graphOf(
        'g',
        [node('a', 'write', () => (runs += 1)), node('b', 'pure', (ctx) => ctx.state.outputs['a'])],
        [...edges('> a', 'b >'), { from: 'a', to: 'b', ...edge }],
      );
    const failed = await runToRest(engine, graph(more));
    expect(failed.error?.cause).toMatchObject({ code, message: expect.stringContaining(word) });
    // Mended, it goes on from the outcome that was kept: the write is not made again.
    const mended = await (await engine.resume(failed.runId, { graph: graph({}) })).result();
    expect([mended.state.outputs['b'], runs]).toEqual([1, 1]);
  }
});

test('G6 a reducer that throws fails its node, and a resume goes on from the outcome that was kept', async () => {
  const { engine } = createBench();
  let runs = 0;
  let isBroken = true;
  const reduce = (_: unknown, update: unknown): unknown => (isBroken ? boom() : update);
  const graph = graphOf(
    'g',
    [node('a', 'write', () => outcome({ output: (runs += 1), scratch: { x: 'kept' } }))],
    edges('> a', 'a >'),
    { reducers: { 'scratch.x': { name: 'mine', reduce } } },
  );
  const failed = await runToRest(engine, graph);
  expect(failed.error?.cause).toMatchObject({ code: 'REDUCER_FAILED', message: expect.stringContaining('boom') });
  isBroken = false;
  const done = await resumeToRest(engine, failed.runId, graph);
  expect([done.state.outputs['a'], done.state.scratch['x'], runs]).toEqual([1, 'kept', 1]);
});

test('G6 a condition out of START or before a node that throws is told by name', async () => {
  const { engine } = createBench();
  const start = graphOf('g', [node('a', 'pure', () => 1)], [{ from: '__start__', to: 'a', condition: failing }]);
  await expect(engine.start(start, {})).rejects.toMatchObject({ code: 'CONDITION_FAILED' });
  const when = graphOf('g', [node('a', 'pure', () => 1, { when: failing })], edges('> a', 'a >'));
  expect((await runToRest(engine, when)).error?.cause).toMatchObject({ code: 'CONDITION_FAILED', data: { node: 'a' } });
});

test('G6 conditions see the output and the name it is seen by, of the node they are read after', async () => {
  const { engine } = createBench();
  const sees = {
    text: 'sees',
    evaluate: ({
      state,
    }: {
      state: { outputs: Record<string, unknown>; artifacts: Record<string, unknown> };
    }): boolean =>
      state.outputs['a'] === 'out' &&
      state.artifacts['seen'] === 'out' &&
      state.outputs['before'] === 'earlier' &&
      state.outputs['none'] === undefined &&
      Object.keys(state.outputs).sort().join() === 'a,before',
  };
  const graph = graphOf(
    'g',
    [
      node('before', 'pure', () => 'earlier'),
      node('a', 'pure', () => 'out', { outputAs: 'seen' }),
      node('b', 'pure', () => 'b'),
    ],
    [...edges('> before', 'before > a', 'b >'), { from: 'a', to: 'b', condition: sees }],
  );
  expect((await runToRest(engine, graph)).state.outputs['b']).toBe('b');
});
