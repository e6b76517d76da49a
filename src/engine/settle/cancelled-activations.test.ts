/** An activation that a join no longer needs ends, whatever it was about to do (E7, G3 `cancelRest`). */
import { expect, test } from 'vitest';
import type { NodeContext } from '../../graph/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import { killedInEffect, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
} from '../../../test/engine-kit.ts';

/** A slow node loses against one that ends when `begun` is called; `ends` resolves when that has won. */
function race(slow: (ctx: NodeContext, begun: () => void, ends: Promise<void>) => unknown): Graph {
  const begun = Promise.withResolvers<void>();
  const won = Promise.withResolvers<void>();
  return graphOf(
    'g',
    [
      node('slow', 'read', (ctx) => slow(ctx, begun.resolve, won.promise)),
      node('fast', 'pure', () => begun.promise),
      node('join', 'pure', () => won.resolve(), { join: { first: 1, cancelRest: true } }),
    ],
    edges('> slow', '> fast', 'slow > join', 'fast > join', 'join >'),
  );
}

test('E7 one that is cancelled asks nothing any more, and its run does not wait for it', async () => {
  const graph = race(async (ctx, begun, ends) => {
    await ctx.step('work', {}, () => (begun(), ends));
    return ctx.ask({ prompt: 'which?' });
  });
  const result = await runToRest(createBench().engine, graph);
  expect([result.status, result.waits]).toEqual(['completed', []]);
});

test('E7 one that is cancelled while a question of it is open and a step of it runs ends with the step', async () => {
  const graph = race((ctx, begun, ends) =>
    Promise.all([ctx.ask({ prompt: 'which?' }), ctx.step('work', {}, () => (begun(), ends))]),
  );
  const result = await runToRest(createBench().engine, graph);
  expect([result.status, result.waits]).toEqual(['completed', []]);
});

test('E7 X4 one that is cancelled begins no effect any more', async () => {
  const calls: string[] = [];
  const errors: unknown[] = [];
  const graph = race(async (ctx, begun, ends) => {
    await ctx.step('one', { effect: 'write' }, () => (calls.push('one'), begun(), ends));
    await ctx.step('two', { effect: 'write' }, () => calls.push('two')).catch((error: unknown) => errors.push(error));
  });
  expect((await runToRest(createBench().engine, graph)).status).toBe('completed');
  expect(calls).toEqual(['one']);
  expect(errors).toMatchObject([{ code: 'NODE_CALL_REFUSED' }]);
});

test('E7 W6 the child runs of one that is cancelled stop, and are told of it', async () => {
  const calls: string[] = [];
  const told: unknown[] = [];
  const graph = race(async (ctx, begun, ends) => {
    const child = graphOf(
      'child',
      [
        node('one', 'write', async ({ signal }) => {
          calls.push('one');
          begun();
          await ends;
          told.push(signal.aborted);
        }),
        node('two', 'write', () => void calls.push('two')),
      ],
      edges('> one', 'one > two', 'two >'),
    );
    const { status } = await ctx.run(child, {});
    told.push(status);
  });
  expect((await runToRest(createBench().engine, graph)).status).toBe('completed');
  expect(calls).toEqual(['one']);
  expect(told).toEqual([true, 'failed']);
});

test('E7 nobody is asked, or waited for, about an effect in doubt that is cancelled meanwhile', async () => {
  const make = (effect: () => unknown): Graph =>
    graphOf(
      'g',
      [
        node('before', 'pure', () => settleDown()),
        node('slow', 'write', effect),
        node('fast', 'human', (ctx) => ctx.ask({ prompt: '?' })),
        node('join', 'pure', () => 1, { join: { first: 1, cancelRest: true } }),
      ],
      edges('> before', 'before > slow', '> fast', 'slow > join', 'fast > join', 'join >'),
    );
  const { bench, graph, calls } = await killedInEffect(make, createBench({ limits: { effectMs: 60_000 } }));
  const engine = afterCrash(bench);
  const [asked] = await engine.waits('r');
  await engine.answer('r', asked?.waitId ?? '', 'yes');
  const result = await resumeToRest(engine, 'r', graph);
  expect([result.status, result.waits, calls()]).toEqual(['completed', [], 1]);
});

test('X3 one that is cancelled after its intent and before it began did not happen: a fork asks nobody about it', async () => {
  const memory = createBench();
  const announced = Promise.withResolvers<void>();
  const calls: string[] = [];
  const graph = graphOf(
    'g',
    [
      node('first', 'read', () => 1),
      node('slow', 'write', () => calls.push('slow')),
      node('fast', 'pure', () => announced.promise),
      node('join', 'pure', () => 1, { join: { first: 1, cancelRest: true } }),
    ],
    edges('> first', 'first > slow', 'first > fast', 'slow > join', 'fast > join', 'join >'),
  );
  // The other one ends while the commit that holds the intent is under way.
  const commit: typeof memory.store.commit = async (given) => {
    announced.resolve();
    await settleDown();
    return memory.store.commit(given);
  };
  const { engine } = createBench({ store: { ...memory.store, commit }, clock: memory.clock, findGraph: () => graph });
  const done = await runToRest(engine, graph, {}, 'r');
  const changes = await changesOf(engine, 'r');
  expect([done.status, calls, changes.join()]).toEqual(['completed', [], expect.stringContaining('withdraw slow')]);
  const fork = await engine.fork({ runId: 'r', seq: 0 });
  expect(await resumeToRest(engine, fork.runId, graph)).toMatchObject({ status: 'completed', waits: [] });
});
