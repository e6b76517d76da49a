import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Clock } from '../../ports/clock.ts';
import { createVirtualClock } from '../../ports/virtual-clock.ts';

/** A clock on which each look takes a millisecond, as on a real one where steps compute. It counts the turns that were given away. */
function slowClock(): { readonly clock: Clock; turns: number } {
  const clock = createVirtualClock({ isAutomatic: true });
  let nowMs = 0;
  const slow = {
    turns: 0,
    clock: {
      ...clock,
      monotonic: () => (nowMs += 1),
      defer: (callback: () => void) => {
        slow.turns += 1;
        clock.defer(callback);
      },
    },
  };
  return slow;
}

test('X4.15 a long row of steps that end at once gives way to the rest of the process', async () => {
  const slow = slowClock();
  const row = async (count: number): Promise<number> => {
    slow.turns = 0;
    const bench = createBench({ clock: slow.clock });
    const graph = graphOf(
      'row',
      [
        node('a', 'read', async (ctx) => {
          for (let index = 0; index < count; index++) await ctx.step(`s${index}`, {}, () => index);
        }),
      ],
      edges('> a', 'a >'),
    );
    expect((await runToRest(bench.engine, graph)).status).toBe('completed');
    return slow.turns;
  };
  const few = await row(60);
  const many = await row(2_000);
  expect(many - few).toBeGreaterThanOrEqual(15);
});

test('X4.15 so does a function that repeats recorded steps after a resume', async () => {
  const slow = slowClock();
  const resumed = async (count: number): Promise<number> => {
    const bench = createBench({ clock: slow.clock });
    const ask = async (ctx: NodeContext): Promise<unknown> => {
      for (let index = 0; index < count; index++) await ctx.step(`s${index}`, {}, () => index);
      return ctx.ask({ prompt: '?' });
    };
    const graph = graphOf('row', [node('a', 'read', ask)], edges('> a', 'a >'));
    const { waits } = await runToRest(bench.engine, graph, {}, 'r');
    await bench.engine.answer('r', waits[0]?.waitId ?? '', 'yes');
    slow.turns = 0;
    expect((await resumeToRest(bench.engine, 'r', graph)).status).toBe('completed');
    return slow.turns;
  };
  const few = await resumed(60);
  const many = await resumed(2_000);
  expect(many - few).toBeGreaterThanOrEqual(15);
});
