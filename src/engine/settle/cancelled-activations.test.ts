/** An activation that a join no longer needs ends, whatever it was about to do (E7, G3 `cancelRest`). */
import { expect, test } from 'vitest';
import { createEngine } from '../engine.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import { killedInEffect, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  endingsOf,
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

/** Runs a race to its end, which the slow one must have lost, and by itself: the grace of a cancel has not passed. Returns the changes. */
async function lose(graph: Graph): Promise<readonly string[]> {
  const { engine, clock } = createBench({ findGraph: () => graph });
  const startMs = clock.timeMs;
  const result = await runToRest(engine, graph);
  expect(clock.timeMs).toBe(startMs);
  expect([result.status, result.waits]).toEqual(['completed', []]);
  expect(await endingsOf(engine, result.runId, 'slow')).toEqual(['cancelled']);
  expect(Object.keys(result.state.outputs)).not.toContain('slow');
  return changesOf(engine, result.runId);
}

test('E7 one that is cancelled asks nothing any more, and its run does not wait for it', async () => {
  const errors: unknown[] = [];
  const graph = race(async (ctx, begun, ends) => {
    await ctx.step('work', {}, () => (begun(), ends));
    return ctx.ask({ prompt: 'which?' }).catch((error: unknown) => errors.push(error));
  });
  const changes = await lose(graph);
  expect(errors).toMatchObject([{ code: 'NODE_CALL_REFUSED' }]);
  expect(changes.join()).not.toContain('wait');
});

test('E7 one that is cancelled while a question of it is open and a step of it runs ends with the step', async () => {
  const ended: string[] = [];
  const graph = race((ctx, begun, ends) =>
    Promise.all([
      ctx.ask({ prompt: 'which?' }).then(() => ended.push('answered')),
      ctx.step('work', {}, () => (begun(), ends.then(() => ended.push('step')))),
    ]),
  );
  const changes = await lose(graph);
  expect(ended).toEqual(['step']);
  expect(changes.join()).toContain('wait slow');
});

test('E7 X4 one that is cancelled begins no effect any more', async () => {
  const calls: string[] = [];
  const errors: unknown[] = [];
  const graph = race(async (ctx, begun, ends) => {
    await ctx.step('one', { effect: 'write' }, () => (calls.push('one'), begun(), ends));
    await ctx.step('two', { effect: 'write' }, () => calls.push('two')).catch((error: unknown) => errors.push(error));
  });
  await lose(graph);
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
  await lose(graph);
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
  const { bench, graph, calls } = await killedInEffect(make, createBench({ bounds: { effectMs: 60_000 } }));
  const engine = afterCrash(bench);
  const [asked] = await engine.waits('r');
  await engine.answer('r', asked?.waitId ?? '', 'yes');
  const result = await resumeToRest(engine, 'r', graph);
  expect([result.status, result.waits, calls()]).toEqual(['completed', [], 1]);
  const known = createEngine({ ...bench.options, findGraph: () => graph });
  expect(await endingsOf(known, 'r', 'slow')).toEqual(['cancelled']);
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
  expect(await endingsOf(engine, 'r', 'slow')).toEqual(['cancelled']);
  const fork = await engine.fork({ runId: 'r', seq: 0 });
  expect(await resumeToRest(engine, fork.runId, graph)).toMatchObject({ status: 'completed', waits: [] });
});
