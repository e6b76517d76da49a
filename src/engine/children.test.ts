/** Child runs. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';

test('W6 a child run asks inside its parent, and both go on after the answer', async () => {
  const { engine } = createBench();
  const child = graphOf(
    'child',
    [
      node('q', 'human', (ctx) => ctx.ask({ prompt: `for ${String(ctx.input)}` })),
      node('w', 'write', (ctx) => `${String(ctx.state.outputs['q'])}!`),
    ],
    edges('> q', 'q > w', 'w >'),
  );
  const graph = graphOf(
    'parent',
    [
      node('sub', 'read', async (ctx) => {
        const result = await ctx.run(child, 'me');
        return result.state.outputs['w'];
      }),
      node('end', 'pure', (ctx) => ctx.state.outputs['sub']),
    ],
    edges('> sub', 'sub > end', 'end >'),
  );
  const paused = await runToRest(engine, graph);
  expect(paused.status).toBe('paused');
  expect(paused.waits[0]?.node).toEqual(['sub', 'run', 'q']);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'hi');
  const done = await resumeToRest(engine, paused.runId, graph);
  expect(done.status).toBe('completed');
  expect(done.state.outputs['end']).toBe('hi!');
});
