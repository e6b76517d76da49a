/** Admission, order and the end of runs. */
import { expect, test } from 'vitest';
import { outcome } from '../../graph/node-contract.ts';
import { createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';

test('E1 a chain runs to its end', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => outcome({ output: 1, scratch: { x: 1 } })),
      node('b', 'write', (ctx) => (ctx.state.scratch['x'] as number) + 1),
    ],
    edges('> a', 'a > b', 'b >'),
  );
  const result = await runToRest(engine, graph, { topic: 't' });
  expect(result.status).toBe('completed');
  expect(result.state.outputs['b']).toBe(2);
});

test('G4 a loop runs in rounds until its exit fires', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('inc', 'pure', (ctx) =>
        outcome({ output: ctx.visit, scratch: { n: ((ctx.state.scratch['n'] as number | undefined) ?? 0) + 1 } }),
      ),
      node('check', 'pure', (ctx) => outcome({ goto: (ctx.state.scratch['n'] as number) < 5 ? 'inc' : 'out' })),
      node('out', 'pure', (ctx) => ctx.state.scratch['n']),
    ],
    edges('> inc', 'inc > check', 'check > inc', 'check > out', 'out >'),
  );
  const result = await runToRest(engine, graph);
  expect(result.state.outputs['out']).toBe(5);
});

test('E5 two unordered writes of a channel without reducer fail the run, naming both', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [node('a', 'pure', () => outcome({ scratch: { x: 1 } })), node('b', 'pure', () => outcome({ scratch: { x: 2 } }))],
    edges('> a', '> b', 'a >', 'b >'),
  );
  const result = await runToRest(engine, graph);
  expect(result.status).toBe('failed');
  expect(result.error?.code).toBe('STATE_WRITE_CONFLICT');
  expect(result.error?.message).toContain('a');
});

test('E2 starting twice with one id is the same run; another input is refused', async () => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'write', (ctx) => ctx.input)], edges('> a', 'a >'));
  await runToRest(engine, graph, { n: 1 }, 'same');
  const again = await engine.start(graph, { n: 1 }, { runId: 'same' });
  expect(again.created).toBe(false);
  expect((await again.result()).status).toBe('completed');
  await expect(engine.start(graph, { n: 2 }, { runId: 'same' })).rejects.toMatchObject({ code: 'RUN_EXISTS' });
});
