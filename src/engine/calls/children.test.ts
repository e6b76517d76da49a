/** Child runs. */
import { expect, test } from 'vitest';
import { until } from '../../../test/support/awaited.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { StandardSchema } from '../../graph/graph.ts';
import { createEngine } from '../engine.ts';

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

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

test('W6 a child whose node failed ends when the siblings that ran have ended', async () => {
  const { engine } = createBench();
  const failing = node('bad', 'pure', () => {
    throw new Error('x');
  });
  const child = graphOf('c', [failing, node('slow', 'pure', pause)], edges('> bad', '> slow', 'bad >', 'slow >'));
  const graph = graphOf(
    'g',
    [node('p', 'read', async (ctx) => (await ctx.run(child, {})).status)],
    edges('> p', 'p >'),
  );
  const result = await runToRest(engine, graph);
  expect(result.status).toBe('completed');
  expect(result.state.outputs['p']).toBe('failed');
});

test('W6 children stop with the attempt that started them, and the history stays whole', async () => {
  // The effect takes real time, before which virtual time must not end its grace.
  const bench = createBench({ bounds: { cancelGraceMs: 1e12 } });
  const started: string[] = [];
  const child = graphOf(
    'c',
    [node('slow', 'write', pause), node('then', 'write', () => started.push('then'))],
    edges('> slow', 'slow > then', 'then >'),
  );
  const graph = graphOf(
    'g',
    [
      node(
        'p',
        'read',
        async (ctx) => {
          void ctx.run(child, {});
          await ctx.step('first', {}, pause);
          throw new Error('late');
        },
        { onFailure: 'continue' },
      ),
      node('q', 'pure', async () => {
        await pause();
        await pause();
      }),
    ],
    edges('> p', 'p > q', 'q >'),
  );
  const result = await runToRest(bench.engine, graph, {}, 'r');
  expect(result.status).toBe('completed');
  expect(started).toEqual([]);
  const other = createEngine({ ...bench.options, findGraph: () => graph });
  expect((await other.inspect('r')).status).toBe('completed');
});

test('W6 what a child waited for is closed when its parent is cancelled', async () => {
  const { engine, store } = createBench();
  const child = graphOf('c', [node('q', 'human', (ctx) => ctx.ask({ prompt: '?' }))], edges('> q', 'q >'));
  const graph = graphOf(
    'g',
    [
      node('fast', 'pure', pause),
      node('slow', 'read', async (ctx) => (await ctx.run(child, {})).status),
      node('j', 'pure', () => 1, { join: { first: 1, cancelRest: true } }),
    ],
    edges('> fast', '> slow', 'fast > j', 'slow > j', 'j >'),
  );
  const result = await runToRest(engine, graph, {}, 'r');
  expect(result).toMatchObject({ status: 'completed', waits: [] });
  expect((await store.listWaits({ tenant: 'default', runId: 'r' })).rows).toEqual([]);
});

test('P1 a child that failed before a crash is not tried again, but for a retry of its parent', async () => {
  const bench = createBench();
  let calls = 0;
  let isStuck = true;
  const failing = node('bad', 'pure', () => {
    calls += 1;
    throw new Error('x');
  });
  const child = graphOf('c', [failing], edges('> bad', 'bad >'));
  const graph = graphOf(
    'g',
    [
      node('p', 'read', async (ctx) => {
        const { status } = await ctx.run(child, {});
        if (isStuck) await new Promise(() => {});
        throw new Error(status);
      }),
    ],
    edges('> p', 'p >'),
  );
  await bench.engine.start(graph, {}, { runId: 'r' });
  await until('the failure of the child is on record', async () => {
    for await (const { change } of bench.engine.history.log('r'))
      if (JSON.stringify(change).includes('bad')) return true;
    return false;
  });
  isStuck = false;
  const second = afterCrash(bench);
  expect((await resumeToRest(second, 'r', graph)).error?.message).toContain('failed');
  expect(calls).toBe(1);
  await resumeToRest(second, 'r', graph);
  expect(calls).toBe(2);
});

test('W6.3 an input that does not fit a child fails its caller, and names the child', async () => {
  const input: StandardSchema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: () => ({ issues: [{ message: 'is missing', path: ['who'] }] }),
    },
  };
  const child = graphOf('greet', [node('a', 'pure', () => 1)], edges('> a', 'a >'), { schemas: { input } });
  const graph = graphOf('g', [node('sub', 'read', (ctx) => ctx.run(child, {}))], edges('> sub', 'sub >'));
  const { status, error } = await runToRest(createBench().engine, graph);
  expect(status).toBe('failed');
  expect(error?.cause).toMatchObject({
    code: 'INPUT_INVALID',
    message: 'the input of greet does not fit: who: is missing',
    data: { child: 'greet' },
  });
});

test('W6 H3 a child run that stands at a node which its graph has no more is refused, and goes on when the node is back', async () => {
  const { engine } = createBench();
  const paid: string[] = [];
  const parent = (name: string) => {
    const child = graphOf(
      'child',
      [node(name, 'human', (ctx) => ctx.ask({ prompt: 'Pay?' })), node('pay', 'external', () => void paid.push('pay'))],
      edges(`> ${name}`, `${name} > pay`, 'pay >'),
    );
    return graphOf(
      'parent',
      [node('sub', 'read', async (ctx) => (await ctx.run(child, {}, { name: 'k' })).status)],
      edges('> sub', 'sub >'),
    );
  };
  const { waits } = await runToRest(engine, parent('ask'), {}, 'r');
  await engine.answer('r', waits[0]?.waitId ?? '', 'yes');
  const refused = await resumeToRest(engine, 'r', parent('approve'));
  expect(refused).toMatchObject({ status: 'failed', error: { cause: { code: 'NODE_CALL_REFUSED' } } });
  expect((refused.error?.cause as Error | undefined)?.message).toContain('child run k stands at node ask');
  expect(paid).toEqual([]);
  const done = await resumeToRest(engine, 'r', parent('ask'));
  expect([done.status, done.state.outputs['sub'], paid]).toEqual(['completed', 'completed', ['pay']]);
});
