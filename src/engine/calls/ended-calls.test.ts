/** Nothing of a function begins once its attempt has ended, however that was (X4.16). */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest, type Bench } from '../../../test/engine-kit.ts';
import type { EffectClass, NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import { mapNode } from '../../nodes/builders.ts';

const itemCount = 300;
const items = Array.from({ length: itemCount }, (_, index) => index);

interface Work {
  begun: number;
  /** Called by each piece of work when it begins. */
  onBegin: () => void;
}

const piece = (work: Work) => async (): Promise<number> => {
  work.begun += 1;
  work.onBegin();
  await turn();
  return work.begun;
};

const one = (draft: Omit<Parameters<typeof graphOf>[1][number], 'id'>): Graph =>
  graphOf('g', [{ ...draft, id: 'a' }], edges('> a', 'a >'));
const composed = (run: (ctx: NodeContext) => unknown): Graph => one(node('a', 'read', run));

const map = (effectClass: EffectClass, continueOnError: boolean) => (work: Work) =>
  one(mapNode({ over: () => items, each: piece(work), effectClass, continueOnError }));

const loops: Readonly<Record<string, (work: Work) => Graph>> = {
  'a map of pure items': map('pure', false),
  'a map of items that read': map('read', false),
  'a map that goes on after failures': map('pure', true),
  'a map of external items': map('external', false),
  'a loop of steps': (work) =>
    composed(async (ctx) => {
      for (const item of items) await ctx.step(`s${item}`, {}, piece(work));
    }),
  'a loop that catches whatever its calls throw': (work) =>
    composed(async (ctx) => {
      for (let index = 0; index < 50_000 && work.begun < itemCount; index += 1)
        await ctx.step(`s${index}`, {}, piece(work)).catch(() => undefined);
      return 'the end';
    }),
  'child runs': (work) => {
    const child = graphOf('c', [node('c', 'pure', piece(work))], edges('> c', 'c >'));
    return composed(async (ctx) => {
      for (const item of items) await ctx.run(child, {}, { name: `c${item}` });
    });
  },
};

/** What ends an attempt from outside. Each resolves when the run has ended here. */
const ends: Readonly<Record<string, (bench: Bench) => Promise<unknown>>> = {
  'a cancel': ({ engine }) => engine.cancel('r'),
  'a close': ({ engine }) => engine.close(),
  'a lost claim': async (bench) => {
    const { store, clock } = bench;
    clock.timeMs += 60_000;
    await store.claimRun({ tenant: 'default', runId: 'r', workerId: 'worker-2', leaseMs: 30_000 });
  },
};

/** What is told of the run then. */
const results: Readonly<Record<string, object>> = {
  'a cancel': { status: 'cancelled', state: { outputs: {} } },
  'a close': { code: 'STORE_CLOSED' },
  'a lost claim': { code: 'CLAIM_FENCED' },
};

const cases = Object.keys(loops).flatMap((loop) => Object.keys(ends).map((end) => [loop, end] as const));

test.each(cases)('X4.16 %s begins nothing more after %s', async (loop, end) => {
  const work: Work = { begun: 0, onBegin: () => undefined };
  const graph = loops[loop]!(work);
  const bench = createBench({ findGraph: () => graph });
  let ending: Promise<unknown> | undefined;
  work.onBegin = (): void => {
    if (work.begun === 10) ending = ends[end]!(bench);
  };
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  const result = await handle.result().catch((error: unknown) => error);
  await ending;
  const begun = work.begun;
  for (let count = 0; count < 1_000; count += 1) await turn();
  expect(work.begun).toBe(begun);
  expect(begun).toBeLessThan(itemCount);
  expect(result).toMatchObject(results[end]!);
});

test('X4.16 a function that goes on beside a child run begins nothing once the run has paused', async () => {
  const asking = graphOf('c', [node('q', 'human', (ctx) => ctx.ask({ prompt: '?' }))], edges('> q', 'q >'));
  const later = Promise.withResolvers<void>();
  const begun: string[] = [];
  const signals: AbortSignal[] = [];
  const graph = composed(async (ctx) => {
    signals.push(ctx.signal);
    const child = ctx.run(asking, {});
    await Promise.race([child, later.promise]);
    await ctx.step('late', {}, () => void begun.push('late'));
  });
  const { engine } = createBench();
  expect((await runToRest(engine, graph)).status).toBe('paused');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  later.resolve();
  for (let count = 0; count < 100; count += 1) await turn();
  expect(begun).toEqual([]);
});

test.each([undefined, 60_000])(
  'X4.16 the loser of a race is told to stop when the function returns, with a timeout of %s ms',
  async (timeoutMs) => {
    const told: string[] = [];
    const untilTold = (name: string, signal: AbortSignal): Promise<string> =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          told.push(name);
          resolve(name);
        });
      });
    const graph = composed(async (ctx) => {
      void untilTold('work beside the steps', ctx.signal);
      const won = await Promise.race([
        ctx.step('slow', timeoutMs === undefined ? {} : { timeoutMs }, ({ signal }) => untilTold('step', signal)),
        ctx.step('fast', {}, async ({ signal }) => {
          void untilTold('work that a step left behind', signal);
          await turn();
          return 'won';
        }),
      ]);
      expect(told).toEqual(['work that a step left behind']);
      return won;
    });
    const { engine } = createBench();
    expect((await runToRest(engine, graph)).state.outputs).toEqual({ a: 'won' });
    expect(told.toSorted()).toEqual(['step', 'work beside the steps', 'work that a step left behind']);
  },
);
