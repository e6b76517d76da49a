/** `ctx.now()`, `ctx.random()` and `ctx.uuid()`: a repeated function gets what it got before (X4.17). */
import { expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';

const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));

test('X4.17 a repeated function gets the times, numbers and ids that it got before, in another process too', async () => {
  const bench = createBench();
  const seen: unknown[][] = [];
  const graph = single(async (ctx) => {
    const drawn = [ctx.now(), ctx.random(), ctx.uuid(), ctx.now()];
    seen.push(drawn);
    await ctx.step('tell', { effect: 'external', input: { drawn } }, () => 1);
    await ctx.sleepUntil(ctx.now() + 86_400_000);
    const later = ctx.now();
    seen.push([later]);
    return ctx.ask({ prompt: `It is ${later}. Well?` });
  });
  let standing = await runToRest(bench.engine, graph);
  const { runId } = standing;
  await bench.clock.advance(86_400_000);
  standing = await resumeToRest(afterCrash(bench), runId, graph);
  await bench.clock.advance(1_000);
  await bench.engine.answer(runId, standing.waits[0]?.waitId ?? '', 'yes');
  const done = await resumeToRest(afterCrash(bench), runId, graph);
  expect([done.status, done.state.outputs['a']]).toEqual(['completed', 'yes']);
  expect(seen[1]).toEqual(seen[0]);
  expect(seen[3]).toEqual(seen[0]);
  expect(seen[4]).toEqual(seen[2]);
  expect((seen[2]?.[0] as number) - (seen[0]?.[0] as number)).toBe(86_400_000);
});

test('X4.17 after a save values are drawn anew, and inside a step the time is the time', async () => {
  const bench = createBench();
  const seen: number[] = [];
  const graph = single(async (ctx) => {
    if (ctx.savedState === undefined) {
      seen.push(ctx.now());
      await bench.clock.advance(10);
      await ctx.save({ half: true });
    }
    seen.push(ctx.now());
    await ctx.step('inside', {}, async () => {
      await bench.clock.advance(10);
      seen.push(ctx.now());
    });
    return ctx.ask({ prompt: 'Well?' });
  });
  const { runId, waits } = await runToRest(bench.engine, graph);
  await bench.clock.advance(10);
  await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(bench.engine, runId, graph)).status).toBe('completed');
  const [begun = 0, saved = 0, inside = 0, repeated] = seen;
  expect([begun < saved, saved < inside, repeated]).toEqual([true, true, saved]);
});
