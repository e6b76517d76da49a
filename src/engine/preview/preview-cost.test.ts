/** Costs in previews: what things cost last time, what would be spent again, and what is saved. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { previewCost } from './preview-cost.ts';

test('Q6 a preview of a fork says what each visit cost, and the sums are those of the fork that is made', async () => {
  const graph = graphOf(
    'g',
    [
      node('a', 'external', (ctx) => ctx.spend({ usd: 1 })),
      node('b', 'external', (ctx) => (ctx.spend({ usd: 2 }), 'b')),
      node('c', 'read', (ctx) => ctx.step('x', { effect: 'read' }, (step) => step.spend({ usd: 4 }))),
      node('d', 'pure', (ctx) => ctx.spend({ usd: 8 })),
    ],
    edges('> a', 'a > b', 'b > c', 'c > d', 'd >'),
  );
  const bench = createBench({ findGraph: () => graph });
  const { seq } = await runToRest(bench.engine, graph, {}, 'r');
  let from = 0;
  for await (const event of bench.engine.events('r'))
    if (
      event.type === 'checkpoint' &&
      event.change.some(({ kind, node: path }) => kind === 'settle' && path?.[0] === 'a')
    )
      from = event.seq;
  expect(from).toBeLessThan(seq);
  const rows = await bench.engine.preview({ runId: 'r', seq: from });
  expect(rows.map(({ node: path, prediction, cost }) => [path[0], prediction, cost])).toEqual([
    ['a', 'restored', { usd: 1 }],
    ['b', 'replayed', { usd: 2 }],
    ['c', 'runs again', { usd: 4 }],
    ['d', 'unknown', { usd: 8 }],
  ]);
  expect(previewCost(rows)).toEqual({ again: { usd: 4 }, saved: { usd: 2 } });
  await bench.engine.fork({ runId: 'r', seq: from }, { runId: 'f' });
  const fork = await resumeToRest(bench.engine, 'f', graph);
  // What was unknown turns out to be reused.
  expect([fork.spent, fork.saved]).toEqual([{ usd: 5 }, { usd: 10 }]);
});

test('Q6 a preview of a resume says what an attempt that failed has cost, and where a budget asks', async () => {
  const graph = graphOf(
    'g',
    [
      node('a', 'read', (ctx) => {
        ctx.spend({ usd: 1 });
        throw new Error('no');
      }),
    ],
    edges('> a', 'a >'),
    { policies: { budget: { usd: 1 } } },
  );
  const bench = createBench({ findGraph: () => graph });
  const { seq } = await runToRest(bench.engine, graph, {}, 'r');
  const from = { runId: 'r', seq };
  expect(await bench.engine.preview(from)).toMatchObject([
    { node: ['a'], prediction: 'asks', because: 'the budget of the run is spent', cost: { usd: 1 } },
  ]);
  const asked = await resumeToRest(bench.engine, 'r', graph);
  expect(asked.waits).toHaveLength(1);
  const more = await bench.engine.preview({ runId: 'r', seq: asked.seq }, { budget: { usd: 2 } });
  expect(more).toMatchObject([{ prediction: 'runs again', cost: { usd: 1 } }]);
});
