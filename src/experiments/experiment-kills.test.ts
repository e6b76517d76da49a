/** Experiments that are killed: before and after each of their writes, they end with the table of one that is not, and buy nothing twice. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, testIds } from '../../test/engine-kit.ts';
import { sample } from '../../test/support/scale.ts';
import { createEngine } from '../engine/engine.ts';
import type { Graph } from '../graph/graph.ts';
import type { Store } from '../ports/store.ts';
import { experiment, type ExperimentResult } from './index.ts';

/** What happened outside. */
let world: string[] = [];

/** Asks a model, and pays what it says. */
const desk = (prompt: string): Graph =>
  graphOf(
    'desk',
    [
      node('draft', 'pure', (ctx) =>
        ctx.step('model', { effect: 'external', idempotent: true, isModelCall: true, input: prompt }, () => {
          world.push('model');
          return prompt.length;
        }),
      ),
      node('pay', 'pure', (ctx) =>
        ctx.step('pay', { effect: 'external', input: ctx.state.outputs['draft'] }, () => {
          world.push('pay');
          return 'paid';
        }),
      ),
    ],
    edges('> draft', 'draft > pay', 'pay >'),
  );

const writes: ReadonlySet<string> = new Set(['admitRun', 'commit', 'claimRun', 'releaseClaim']);

/** A store whose process is gone at its n-th write: from then on no call of it returns. */
function dyingStore(
  store: Store,
  dies: number,
  isAfter: boolean,
): { readonly store: Store; readonly died: Promise<void>; count: () => number } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let written = 0;
  let isDead = false;
  const never = (): Promise<never> => new Promise<never>(() => {});
  const proxy = new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]): unknown => {
        if (isDead) return never();
        const isWrite = writes.has(String(key));
        if (isWrite) written += 1;
        const isLast = isWrite && written === dies;
        const end = (): Promise<never> => {
          isDead = true;
          resolve();
          return never();
        };
        if (isLast && !isAfter) return end();
        const returned: unknown = Reflect.apply(value, target, args);
        return isLast ? Promise.resolve(returned).then(end) : returned;
      };
    },
  });
  return { store: proxy, died: promise, count: () => written };
}

async function recorded(): Promise<ReturnType<typeof createBench>> {
  const bench = createBench();
  for (const runId of ['a', 'b'])
    await resumeToRest(bench.engine, (await bench.engine.start(desk('plain'), {}, { runId })).runId, desk('plain'));
  world = [];
  return bench;
}

const run = (engine: ReturnType<typeof createEngine>): Promise<ExperimentResult> => {
  engine.know(desk('plain'));
  return experiment(
    { graph: desk('plain'), engine },
    {
      name: 'kills',
      dataset: {},
      arms: { kind: { graph: desk('kinder') }, same: {} },
      concurrency: 2,
      output: ({ outputs }) => outputs,
    },
  );
};

test('EX4 killed before and after each of its writes, an experiment ends with the same table, and repeats at most the calls in flight', async () => {
  const whole = await recorded();
  const counted = dyingStore(whole.store, Infinity, false);
  const table = await run(createEngine({ ...whole.options, store: counted.store }));
  const calls = world.length;
  expect(table.arms['kind']?.verdicts).toEqual({ 'would act': 2 });
  const points = Array.from({ length: counted.count() }, (_, index) => index + 1);
  for (const dies of sample(points, 6)) {
    for (const isAfter of [false, true]) {
      const bench = await recorded();
      const { store, died } = dyingStore(bench.store, dies, isAfter);
      void run(createEngine({ ...bench.options, store, ids: testIds('gone') })).catch(() => {});
      await died;
      const again = await run(createEngine({ ...bench.options, ids: testIds('next', ['gone']) }));
      expect([dies, isAfter, again.arms, again.baseline]).toEqual([dies, isAfter, table.arms, table.baseline]);
      expect([dies, isAfter, world.includes('pay'), world.length <= calls + 2]).toEqual([dies, isAfter, false, true]);
    }
  }
});
