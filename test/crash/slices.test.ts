/** Slices under kills: a run that is advanced for a moment at a time, killed at every write and call, ends as if it had not been. */
import { expect, test } from 'vitest';
import type { Graph } from '../../src/graph/graph.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import type { CrashCase, CrashKitOptions, CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { crashEverywhere, crashFree } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { edges, graphOf, node } from '../engine-kit.ts';

/** A function of steps, a child and a question, between effects that are nodes. */
function sliced(process: CrashProcess): Graph {
  const work =
    <T>(value: T) =>
    async (): Promise<T> => {
      await process.sleep(20);
      return value;
    };
  const child = graphOf('child', [node('inner', 'write', work('inner'))], edges('> inner', 'inner >'));
  return graphOf(
    'g',
    [
      node('first', 'external', work('first')),
      node('steps', 'read', async (ctx) => {
        const one = await ctx.step('one', { effect: 'external' }, work(1));
        const two = await ctx.step('two', { effect: 'write', idempotent: true }, work(2));
        await ctx.sleepUntil(ctx.now() + 30);
        await ctx.run(child, {});
        return [one, two, await ctx.ask({ prompt: 'Go on?' })];
      }),
      node('last', 'write', work('last')),
    ],
    edges('> first', 'first > steps', 'steps > last', 'last >'),
  );
}

test('HO1 a run killed at any point of its slices ends as if it had not been, with each effect once or asked about', async () => {
  const crashCase: CrashCase = { graph: sliced, input: {}, sliceMs: 10, answer: () => 'yes' };
  const options: CrashKitOptions = { open: (now) => ({ store: createMemoryStore({ now }) }) };
  expect((await crashFree(crashCase, options)).summary.status).toBe('completed');
  const report = await crashEverywhere(crashCase, options);
  expect(report.faults).toEqual([]);
  expect(report.trials).toBeGreaterThan(40);
});
