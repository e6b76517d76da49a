/** Signals that are taken only if they have come (W5.5), that must fit, and that are waited for no longer than said (W5.6). */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

const early = (ctx: NodeContext): Promise<unknown> => ctx.receive('go', { waits: false });

/** Looks for a signal before, at and after the one that it sends to its child, which looks for its own. */
function graph(): Graph {
  const child = graphOf(
    'child',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
      node('c', 'read', async (ctx) => [await early(ctx), await early(ctx)]),
    ],
    edges('> ask', 'ask > c', 'c >'),
  );
  const run = async (ctx: NodeContext): Promise<unknown> => {
    const none = (await early(ctx)) ?? 'none';
    const handle = await ctx.start(child, {});
    await handle.signal('go', 'word');
    const { state } = await handle.result();
    return [none, state.outputs['c']];
  };
  return graphOf('g', [node('p', 'read', run)], edges('> p', 'p >'));
}

test('W5.5 a signal is taken if it has come; that there was none is on record, whatever comes until the function is repeated', async () => {
  const bench = createBench();
  const paused = await runToRest(bench.engine, graph(), {}, 'r');
  // It would be taken now, were it not on record that there was none.
  await bench.engine.signal('r', 'go', 'late');
  const engine = afterCrash(bench);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(engine, 'r', graph())).state.outputs['p']).toEqual(['none', ['word', 'late']]);
});

test('W5.5 P1 killed at every commit, it finds what it finds without', async () => {
  let trials = 0;
  for (let commits = 1; commits < 30; commits += 1) {
    const bench = createBench();
    const died = Promise.withResolvers<undefined>();
    const dying = dyingEngine(bench, commits, () => died.resolve(undefined));
    const handle = await dying.start(graph(), {}, { runId: 'r' });
    const first = await Promise.race([handle.result(), died.promise]);
    await settleDown();
    const engine = afterCrash(bench);
    const { waits } = first ?? (await resumeToRest(engine, 'r', graph()));
    await engine.answer('r', waits[0]?.waitId ?? '', 'yes');
    expect((await resumeToRest(engine, 'r', graph())).state.outputs['p']).toEqual(['none', ['word', undefined]]);
    if (first !== undefined) break;
    trials += 1;
  }
  expect(trials).toBeGreaterThan(1);
});

const amount = z.object({ amount: z.coerce.number() });

/** Takes payments of a schema until one comes in time. */
const paying: Graph = graphOf(
  'paying',
  [
    node('pay', 'read', async (ctx) => {
      const first = await ctx.receive('paid', { schema: amount, timeoutMs: 60_000 });
      const second = await ctx.receive('paid', { timeoutMs: 60_000, defaultValue: 'none' });
      const third = await ctx.receive('paid', { timeoutMs: 1_000 }).catch((error: CairnError) => error.code);
      return [first.amount, second, third];
    }),
  ],
  edges('> pay', 'pay >'),
);

test('W5.6 a signal is what its schema makes of it; where none comes in time, the default stands or the call fails', async () => {
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, paying);
  await bench.engine.signal(runId, 'paid', { amount: '5' });
  expect(await resumeToRest(bench.engine, runId, paying)).toMatchObject({ status: 'paused' });
  // The time is that of the first call, whatever happens to the process.
  const engine = afterCrash(bench);
  bench.clock.timeMs += 60_001;
  const ended = await resumeToRest(engine, runId, paying);
  expect(ended).toMatchObject({ status: 'completed', state: { outputs: { pay: [5, 'none', 'NODE_TIMED_OUT'] } } });
});

test('W5.6 a signal that does not fit fails the call, on record; the next attempt takes the next signal', async () => {
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, paying);
  await bench.engine.signal(runId, 'paid', { amount: 'much' });
  const failed = await resumeToRest(bench.engine, runId, paying);
  expect(failed).toMatchObject({
    status: 'failed',
    error: { message: expect.stringMatching(/signal paid of node pay does not fit its schema at amount/) as string },
  });
  await bench.engine.signal(runId, 'paid', { amount: 7 });
  await bench.engine.signal(runId, 'paid', 'more');
  await resumeToRest(afterCrash(bench), runId, paying);
  bench.clock.timeMs += 1_001;
  expect((await resumeToRest(bench.engine, runId, paying)).state.outputs['pay']).toEqual([7, 'more', 'NODE_TIMED_OUT']);
});

/** Takes one signal of a schema. */
const taking = (schema: z.ZodType): Graph =>
  graphOf('taking', [node('take', 'read', (ctx) => ctx.receive('go', { schema }))], edges('> take', 'take >'));

test('W5.6 a signal that does not fit the schema of the call that waits for it is refused, and the call goes on waiting', async () => {
  const bench = createBench();
  const graph = taking(z.object({ amount: z.number().min(1) }));
  const { runId } = await runToRest(bench.engine, graph);
  // Another process knows no more than what is stored.
  const other = afterCrash(bench);
  for (const value of ['much', { amount: 0 }, {}, null])
    await expect(other.signal(runId, 'go', value)).rejects.toMatchObject({
      code: 'SIGNAL_INVALID',
      data: { name: 'go', node: 'take', reason: expect.stringMatching(/value/) as string },
    });
  expect(await other.waits(runId)).toMatchObject([{ kind: 'signal', name: 'go' }]);
  await other.signal(runId, 'go', { amount: 3 }, { id: 'one' });
  // The first is for the open wait, so this one is for whoever waits next; and the first is the same signal when it is sent again.
  await other.signal(runId, 'go', 'later');
  await other.signal(runId, 'go', 'else', { id: 'one' });
  expect((await resumeToRest(other, runId, graph)).state.outputs['take']).toEqual({ amount: 3 });
});

test('W5.3 a signal that is sent again is that signal still, when the next wait takes no such value, and when the run has ended', async () => {
  const bench = createBench();
  const run = async (ctx: NodeContext): Promise<unknown> => [
    await ctx.receive('go', { schema: z.number() }),
    await ctx.receive('go', { schema: z.string() }),
  ];
  const graph = graphOf('twice', [node('take', 'read', run)], edges('> take', 'take >'));
  const asking = graphOf(
    'early',
    [node('take', 'read', async (ctx) => [await ctx.ask({ prompt: '?' }), await run(ctx)])],
    edges('> take', 'take >'),
  );
  for (const [id, first] of [
    ['r', graph],
    ['early', asking],
  ] as const) {
    await runToRest(bench.engine, first, {}, id);
    const other = afterCrash(bench);
    await other.signal(id, 'go', 1, { id: 'one' });
    await resumeToRest(other, id, first);
    if (id === 'early') {
      const [question] = await other.waits(id);
      await other.answer(id, question?.waitId ?? '', 'yes');
      await resumeToRest(other, id, first);
    }
    // Now a text is waited for. Another id is another signal, and is refused.
    await expect(other.signal(id, 'go', 1, { id: 'two' })).rejects.toMatchObject({ code: 'SIGNAL_INVALID' });
    await other.signal(id, 'go', 1, { id: 'one' });
    expect(await other.waits(id)).toMatchObject([{ kind: 'signal', name: 'go' }]);
    await other.signal(id, 'go', 'text', { id: 'two' });
    expect(await resumeToRest(other, id, first)).toMatchObject({ status: 'completed' });
    await other.signal(id, 'go', 1, { id: 'one' });
    await expect(other.signal(id, 'go', 1, { id: 'three' })).rejects.toMatchObject({ code: 'RUN_FINISHED' });
  }
});

test('W5.6 what nobody waits for is taken; so is what a schema makes fit, and what a schema without JSON Schema alone can judge', async () => {
  const takes = async (schema: z.ZodType, value: unknown): Promise<unknown> => {
    const { engine } = createBench();
    const { runId } = await runToRest(engine, taking(schema));
    await engine.signal(runId, 'other', value);
    await engine.signal(runId, 'go', value);
    return (await resumeToRest(engine, runId, taking(schema))).state.outputs['take'];
  };
  expect(await takes(z.coerce.number(), '5')).toBe(5);
  expect(await takes(z.object({ n: z.preprocess(Number, z.number()) }), { n: '5' })).toEqual({ n: 5 });
  expect(await takes(z.number().catch(0), 'none')).toBe(0);
  expect(await takes(z.string().trim().max(2), ' ab ')).toBe('ab');
  expect(await takes(z.string().regex(/^a$/iu), 'A')).toBe('A');
  expect(await takes(z.stringbool(), 'yes')).toBe(true);
  expect(await takes(z.object({ a: z.string().default('x') }), {})).toEqual({ a: 'x' });
  expect(await takes(z.xor([z.coerce.number(), z.literal('a')]), 'a')).toBe('a');
  expect(await takes(z.instanceof(Date).or(z.string()), 'a')).toBe('a');
});

test('W5.6 the schema of changed code is the one that signals must fit, once the run was resumed with it', async () => {
  const { engine } = createBench();
  const { runId } = await runToRest(engine, taking(z.number()));
  await expect(engine.signal(runId, 'go', 'text')).rejects.toThrow(/does not fit its schema/);
  const changed = taking(z.string().max(9));
  await resumeToRest(engine, runId, changed);
  await expect(engine.signal(runId, 'go', 5)).rejects.toThrow(/does not fit its schema/);
  await engine.signal(runId, 'go', 'text');
  expect((await resumeToRest(engine, runId, changed)).state.outputs['take']).toBe('text');
});

test('P6 an option of receive that means nothing is refused', async () => {
  const reasonOf = async (options: object): Promise<unknown> => {
    const run = (ctx: NodeContext): Promise<unknown> => ctx.receive('go', options);
    const { error } = await runToRest(
      createBench().engine,
      graphOf('g', [node('p', 'read', run)], edges('> p', 'p >')),
    );
    return (error?.cause as CairnError | undefined)?.data['reason'] ?? error?.message;
  };
  expect(await reasonOf({ schema: { type: 'object' } })).toMatch(/its schema is no Standard Schema/);
  expect(await reasonOf({ timeoutMs: Number.NaN })).toMatch(/its timeoutMs is no time in ms/);
  expect(await reasonOf({ timeoutMs: 5, waits: false })).toMatch(/what does not wait has no timeout/);
  expect(await reasonOf({ defaultValue: 1 })).toMatch(/a defaultValue needs a timeoutMs/);
});
