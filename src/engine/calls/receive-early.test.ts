/** Signals that are taken only if they have come (W5.5). */
import { expect, test } from 'vitest';
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
