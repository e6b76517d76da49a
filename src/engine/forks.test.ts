/** Forks: what is replayed, what is answered otherwise. */
import { expect, test } from 'vitest';
import { outcome } from '../graph/node-contract.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';

test('H2 X2 a fork replays recorded effects of equal input, and runs those whose input changed', async () => {
  const { engine } = createBench();
  const calls: string[] = [];
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', (ctx) => outcome({ output: 1, scratch: { x: ctx.state.scratch['seed'] ?? 1 } })),
      node('w1', 'write', () => void calls.push('w1')),
      node('w2', 'write', (ctx) => {
        calls.push(`w2:${String(ctx.state.scratch['x'])}`);
        return ctx.state.scratch['x'];
      }),
    ],
    edges('> a', 'a > w1', 'w1 > w2', 'w2 >'),
  );
  const done = await runToRest(engine, graph);
  expect(calls).toEqual(['w1', 'w2:1']);
  const same = await engine.fork({ runId: done.runId, seq: 0 });
  const again = await resumeToRest(engine, same.runId, graph);
  expect(again.status).toBe('completed');
  expect(calls).toEqual(['w1', 'w2:1']);
  const other = await engine.fork({ runId: done.runId, seq: 0 }, { set: [{ path: ['scratch', 'seed'], value: 7 }] });
  const preview = await engine.preview(
    { runId: done.runId, seq: 0 },
    { graph, set: [{ path: ['scratch', 'seed'], value: 7 }] },
  );
  expect(preview.map((row) => `${row.node.join('/')} ${row.prediction}`)).toEqual([
    'a runs again',
    'w1 unknown',
    'w2 unknown',
  ]);
  const changed = await resumeToRest(engine, other.runId, graph);
  expect(changed.state.outputs['w2']).toBe(7);
  expect(calls).toEqual(['w1', 'w2:1', 'w2:7']);
});

test('H2 a fork answers a recorded question otherwise', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'ok?' })),
      node('b', 'external', (ctx) => `did ${String(ctx.state.outputs['ask'])}`),
    ],
    edges('> ask', 'ask > b', 'b >'),
  );
  const paused = await runToRest(engine, graph);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  const done = await resumeToRest(engine, paused.runId, graph);
  const fork = await engine.fork({ runId: done.runId, seq: done.seq }, { answers: { ask: 'no' } });
  const other = await resumeToRest(engine, fork.runId, graph);
  expect(other.status).toBe('completed');
  expect(other.state.outputs['b']).toBe('did no');
});
