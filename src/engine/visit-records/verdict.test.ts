/** What a node that completed says of its own work, beside its status (C3). */
import { expect, test } from 'vitest';
import {
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';
import { outcome } from '../../graph/contracts/node-contract.ts';
import { loadState } from '../../history/load/load.ts';
import { viewState } from '../../history/read/checkpoint-view.ts';

type Verdicts = readonly (string | undefined)[];

/** The verdict of each ending of a node, as the history tells it, and that of its last visit, as the newest state shows it. */
async function verdictsOf(
  bench: Bench,
  runId: string,
  id: string,
): Promise<{ readonly told: Verdicts; readonly now: unknown }> {
  const told: (string | undefined)[] = [];
  for await (const event of bench.engine.events(runId))
    if (event.type === 'checkpoint')
      for (const { kind, node: path, verdict } of event.change)
        if ((kind === 'settle' || kind === 'replay') && path?.[0] === id) told.push(verdict);
  const { root } = await loadState(bench.store, bench.options.blobs, await rowOf(bench, runId));
  return { told, now: viewState(root).nodes.find(({ path }) => path[0] === id)?.verdict };
}

test('C3 a verdict is that of its visit alone: it is told of it, shown by the state, live, and forgotten by the next', async () => {
  const bench = createBench();
  const graph = graphOf(
    'g',
    [
      node('a', 'write', ({ visit }) => outcome({ output: visit, ...(visit === 2 && { verdict: 'fail' }) })),
      node('b', 'pure', ({ visit }) => outcome({ goto: visit < 3 ? 'a' : 'c' })),
      node('c', 'pure', ({ visit }) => visit),
    ],
    edges('> a', 'a > b', 'b > a', 'b > c', 'c >'),
  );
  bench.engine.know(graph);
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  const live: unknown[] = [];
  for await (const event of handle.events({ live: true }))
    if (event.type === 'settled' && event.node[0] === 'a') live.push(event.detail);
  expect(live).toEqual([{ status: 'completed' }, { status: 'completed', verdict: 'fail' }, { status: 'completed' }]);
  expect(await verdictsOf(bench, 'r', 'a')).toEqual({ told: [undefined, 'fail', undefined], now: undefined });
});

test('C3 H2 a verdict decides nothing, and a fork that takes the outcome over has it too', async () => {
  const bench = createBench();
  let calls = 0;
  const graph = graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        await ctx.step('part', { effect: 'write' }, () => (calls += 1));
        return outcome({ output: 1, verdict: 'partial_success' });
      }),
      node('b', 'write', () => outcome({ output: (calls += 1), verdict: 'skipped' })),
    ],
    edges('> a', 'a > b', 'b >'),
  );
  const done = await runToRest(bench.engine, graph);
  expect([done.status, done.state.outputs]).toEqual(['completed', { a: 1, b: 2 }]);
  const fork = await bench.engine.fork({ runId: done.runId, seq: 0 });
  expect((await resumeToRest(bench.engine, fork.runId, graph)).status).toBe('completed');
  expect(calls).toBe(2);
  for (const { runId } of [done, fork]) {
    bench.engine.know(graph);
    expect(await verdictsOf(bench, runId, 'a')).toMatchObject({ now: 'partial_success' });
    expect(await verdictsOf(bench, runId, 'b')).toMatchObject({ now: 'skipped' });
  }
});

test('G6 C3 an outcome that is kept while its reducer fails keeps its verdict', async () => {
  const bench = createBench();
  let isBroken = true;
  const graph = graphOf(
    'g',
    [node('a', 'write', () => outcome({ output: 1, scratch: { x: 1 }, verdict: 'retry' }))],
    edges('> a', 'a >'),
    {
      reducers: {
        'scratch.x': {
          name: 'breaks',
          reduce: (_: unknown, update: unknown) => {
            if (isBroken) throw new Error('not now');
            return update;
          },
        },
      },
    },
  );
  bench.engine.know(graph);
  const failed = await runToRest(bench.engine, graph);
  expect([failed.status, (await verdictsOf(bench, failed.runId, 'a')).now]).toEqual(['failed', undefined]);
  isBroken = false;
  const handle = await bench.engine.resume(failed.runId, { graph, retry: true });
  expect((await handle.result()).status).toBe('completed');
  expect(await verdictsOf(bench, failed.runId, 'a')).toEqual({ told: [undefined, 'retry'], now: 'retry' });
});

test.each([[''], ['Fail'], ['two words'], ['x'.repeat(41)], [7], [null], ['swordfish-4711']])(
  'P6 C3 the verdict %j is no word: the node fails and says so',
  async (verdict) => {
    const { engine } = createBench();
    const graph = graphOf('g', [node('a', 'pure', () => outcome({ verdict } as never))], edges('> a', 'a >'));
    const { status, error } = await runToRest(engine, graph);
    expect([status, String(error?.message)]).toEqual(['failed', expect.stringContaining('a word of small letters')]);
  },
);
