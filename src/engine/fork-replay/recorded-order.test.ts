/** Recorded outcomes come to a fork in the order in which they were recorded, and only those that a fork may take (X2). */
import { expect, test } from 'vitest';
import { until } from '../../../test/support/awaited.ts';
import { createBench, edges, graphOf, node, resumeToRest, rowOf, runToRest } from '../../../test/engine-kit.ts';
import type { NodeDefinition } from '../../graph/graph.ts';
import { NodeFailure, outcome, type EffectClass } from '../../graph/contracts/node-contract.ts';

type Graph = ReturnType<typeof graphOf>;

/** Three effects side by side that end in the reverse order of their start, each with an item for one list. */
function racing(gate: (id: string) => Promise<void>): Graph {
  const ids = ['a', 'b', 'c'];
  const one = (id: string): NodeDefinition =>
    node(id, 'external', async () => {
      await gate(id);
      return outcome({ output: id, scratch: { ended: [id] } });
    });
  return graphOf('g', ids.map(one), edges('> a', '> b', '> c', 'a >', 'b >', 'c >'), {
    reducers: { 'scratch.ended': 'append' },
  });
}

test.each([
  ['each in a checkpoint of its own', true],
  ['all in one checkpoint', false],
])('X2.2 outcomes that were recorded side by side are taken in recorded order, %s', async (_, isApart) => {
  const begun = new Map<string, () => void>();
  const graph = racing((id) => new Promise((resolve) => begun.set(id, resolve)));
  const bench = createBench({ findGraph: () => graph });
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  await until('all have begun', () => begun.size === 3);
  let settled = 0;
  for (const id of ['c', 'a', 'b']) {
    begun.get(id)?.();
    if (!isApart) continue;
    settled += 1;
    await until(`${id} is recorded`, async () => (await rowOf(bench, 'r')).head > settled);
  }
  const done = await handle.result();
  expect(done.state.scratch['ended']).toEqual(['c', 'a', 'b']);
  const fork = await bench.engine.fork({ runId: 'r', seq: 0 });
  const again = await resumeToRest(bench.engine, fork.runId, graph);
  expect(again.state).toEqual(done.state);
});

test.each<EffectClass>(['pure', 'read'])(
  'X2 a %s node that failed in the original, and whose failure was routed, is run again in a fork',
  async (effect) => {
    let calls = 0;
    const graph = graphOf(
      'g',
      [
        node(
          'a',
          effect,
          () => {
            calls += 1;
            if (calls === 1) throw new Error('broken');
            return `call ${calls}`;
          },
          { onFailure: 'continue' },
        ),
        node('b', 'pure', ({ state }) => state.outputs['a'] ?? 'nothing'),
      ],
      edges('> a', 'a > b', 'b >'),
    );
    const bench = createBench();
    const done = await runToRest(bench.engine, graph);
    expect(done.state.outputs['b']).toBe('nothing');
    const fork = await bench.engine.fork({ runId: done.runId, seq: 0 });
    const preview = await bench.engine.preview({ runId: fork.runId, seq: fork.seq }, { graph });
    expect(preview.find(({ node: [id] }) => id === 'a')?.prediction).toBe('runs again');
    const again = await resumeToRest(bench.engine, fork.runId, graph);
    expect([again.state.outputs['b'], calls]).toEqual(['call 2', 2]);
  },
);

test('X2 a question that time ended in the original is asked in a fork: nobody answered it', async () => {
  let deadlineMs = 1_000;
  const graph = graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        const until = await ctx.step('until', { effect: 'read' }, () => bench.clock.now() + deadlineMs);
        return ctx.ask({ prompt: '?', deadlineAt: until }).catch((error: { code: string }) => error.code);
      }),
    ],
    edges('> a', 'a >'),
  );
  const bench = createBench();
  const done = await runToRest(bench.engine, graph);
  expect(done.state.outputs['a']).toBe('NODE_TIMED_OUT');
  deadlineMs = 3_600_000;
  const fork = await bench.engine.fork({ runId: done.runId, seq: 0 });
  const paused = await resumeToRest(bench.engine, fork.runId, graph);
  expect([paused.status, paused.waits.map(({ kind }) => kind)]).toEqual(['paused', ['question']]);
  await bench.engine.answer(fork.runId, paused.waits[0]?.waitId ?? '', 'in time');
  expect((await resumeToRest(bench.engine, fork.runId, graph)).state.outputs['a']).toBe('in time');
});

test('X2.1 an effect that failed and was tried again by a resume is taken over as it ended, in its place', async () => {
  let calls = 0;
  const run = (): unknown => {
    calls += 1;
    if (calls === 1) throw new NodeFailure('not now', { code: 'BUSY', applied: 'no' });
    return outcome({ output: calls, scratch: { ended: ['a'] } });
  };
  const graph = graphOf(
    'g',
    [node('a', 'external', run), node('b', 'external', () => outcome({ scratch: { ended: ['b'] } }))],
    edges('> a', '> b', 'a >', 'b >'),
    { reducers: { 'scratch.ended': 'append' } },
  );
  const bench = createBench();
  const failed = await runToRest(bench.engine, graph, {}, 'r');
  expect([failed.status, failed.state.scratch['ended']]).toEqual(['failed', ['b']]);
  const done = await resumeToRest(bench.engine, 'r', graph);
  const fork = await bench.engine.fork({ runId: 'r', seq: 0 });
  const rows = await bench.engine.preview({ runId: fork.runId, seq: fork.seq }, { graph });
  expect(rows.map(({ node: [id], prediction }) => [id, prediction])).toEqual([
    ['b', 'replayed'],
    ['a', 'replayed'],
  ]);
  const again = await resumeToRest(bench.engine, fork.runId, graph);
  expect([again.state, calls]).toEqual([done.state, 2]);
});
