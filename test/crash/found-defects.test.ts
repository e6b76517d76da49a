/** Defects that the crash kit and the simulation found, each as the smallest run that shows it. */
import { expect, it } from 'vitest';
import { NodeFailure, outcome } from '../../src/graph/contracts/node-contract.ts';
import type { Store } from '../../src/ports/store.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';

const ask = (id: string): ReturnType<typeof node> => node(id, 'human', (ctx) => ctx.ask({ prompt: id }));

it('O1 an answer that waits when a run is taken up is taken in before anything is planned', async () => {
  const bench = createBench();
  const graph = graphOf('waiting-answer', [ask('a')], edges('> a', 'a >'));
  const { runId, waits } = await runToRest(bench.engine, graph);
  await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  const result = await resumeToRest(bench.engine, runId, graph);
  expect(result.status).toBe('completed');
  expect(result.state.outputs).toEqual({ a: 'yes' });
});

it('W6 a parent goes on when its child has ended, though nothing else is left to do', async () => {
  const child = graphOf('child', [node('c', 'pure', () => 1)], edges('> c', 'c >'));
  const parent = node('p', 'pure', async (ctx) => (await ctx.run(child, {})).status);
  const graph = graphOf('parent', [parent], edges('> p', 'p >'));
  const result = await runToRest(createBench().engine, graph);
  expect(result.state.outputs).toEqual({ p: 'completed' });
});

it('W6 a child takes the place of the parent that waits for it, where only one thing runs at once', async () => {
  const child = graphOf('child', [node('c', 'write', () => 1)], edges('> c', 'c >'));
  const parent = node('p', 'pure', async (ctx) => (await ctx.run(child, {})).status);
  const graph = graphOf('narrow', [parent], edges('> p', 'p >'), { policies: { concurrency: 1 } });
  const result = await runToRest(createBench().engine, graph);
  expect(result.state.outputs).toEqual({ p: 'completed' });
});

it('G4 an edge that fired out of a loop is not forgotten while a later visit of its source is open', async () => {
  const bench = createBench();
  const loop = node('a', 'human', (ctx) => ctx.ask({ prompt: `visit ${ctx.visit}` }));
  const say = (answer: string) => ({
    text: answer,
    evaluate: ({ outcome }: { readonly outcome: { readonly output: unknown } }) => outcome.output === answer,
  });
  const links = [
    ...edges('> a', 'b >'),
    { from: 'a', to: 'b', condition: say('out and again') },
    { from: 'a', to: 'a', condition: say('out and again') },
  ];
  const graph = graphOf('held', [loop, node('b', 'pure', () => 'ran')], links);
  const first = await runToRest(bench.engine, graph);
  await bench.engine.answer(first.runId, first.waits[0]?.waitId ?? '', 'out and again');
  const second = await resumeToRest(bench.engine, first.runId, graph);
  await bench.engine.answer(first.runId, second.waits[0]?.waitId ?? '', 'enough');
  const result = await resumeToRest(bench.engine, first.runId, graph);
  expect(result.status).toBe('completed');
  expect(result.state.outputs['b']).toBe('ran');
});

it('G10 a run is paused when what was cancelled has ended, though its grace period was held', async () => {
  const slow = node('slow', 'read', async (ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    await new Promise((resolve) => void setImmediate(resolve));
  });
  const graph = graphOf(
    'grace',
    [
      node('fast', 'pure', () => new Promise((resolve) => void setImmediate(resolve))),
      slow,
      { ...ask('first'), join: { first: 1, cancelRest: true } },
    ],
    edges('> fast', '> slow', 'fast > first', 'slow > first', 'first >'),
  );
  const result = await runToRest(createBench().engine, graph);
  expect(result.status).toBe('paused');
});

/** Lets something happen after an engine has looked at a run, just before it calls the store again. */
function before(method: 'claimRun' | 'postMessage', store: Store, happen: () => Promise<unknown>): Store {
  let isFirst = true;
  const call = async (request: never): Promise<unknown> => {
    if (isFirst) await happen();
    isFirst = false;
    return store[method](request);
  };
  return { ...store, [method]: call };
}

it('E7 a run that ended between a look at it and the claim is neither cancelled nor resumed', async () => {
  const bench = createBench();
  const graph = graphOf('ended-meanwhile', [ask('a')], edges('> a', 'a >'));
  const findGraph = () => graph;
  const { runId, waits } = await runToRest(bench.engine, graph);
  const finish = async (): Promise<void> => {
    await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
    expect((await resumeToRest(bench.engine, runId, graph)).status).toBe('completed');
  };
  const late = createBench({ ...bench.options, findGraph, store: before('postMessage', bench.store, finish) });
  await expect(late.engine.cancel(runId)).rejects.toMatchObject({ code: 'RUN_FINISHED' });
  const after = await late.engine.inspect(runId);
  expect(after).toMatchObject({ status: 'completed', state: { outputs: { a: 'yes' } } });
});

it('E7 a run that was cancelled between a look at it and the claim stays cancelled', async () => {
  const bench = createBench();
  const graph = graphOf('cancelled-meanwhile', [ask('a')], edges('> a', 'a >'));
  const { runId } = await runToRest(bench.engine, graph);
  const late = createBench({
    ...bench.options,
    store: before('claimRun', bench.store, () => bench.engine.cancel(runId)),
  });
  await expect(late.engine.resume(runId, { graph })).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
});

it('G8 a step that is to be tried again is, though the run has begun to fail', async () => {
  let attempts = 0;
  const worker = node('worker', 'read', (ctx) =>
    ctx.step('send', { effect: 'write', retry: { attempts: 2, delayMs: 10 } }, ({ attempt }) => {
      attempts = attempt;
      if (attempt === 1) throw new NodeFailure('busy', { applied: 'no' });
      return 'sent';
    }),
  );
  const failing = node('failing', 'write', () => {
    throw new Error('broken');
  });
  const graph = graphOf('failing-beside', [worker, failing], edges('> worker', '> failing', 'worker >', 'failing >'));
  const result = await runToRest(createBench().engine, graph);
  expect(result).toMatchObject({ status: 'failed', failed: ['failing'], state: { outputs: { worker: 'sent' } } });
  expect(attempts).toBe(2);
});

it('G3 an outcome may name the target of an edge that fires always', async () => {
  const router = node('r', 'pure', () => outcome({ goto: ['a'] }));
  const others = [node('a', 'pure', () => 1), node('b', 'pure', () => 1)];
  const links = [...edges('> r', 'r > b', 'a >', 'b >'), { from: 'r', to: 'a', always: true }];
  const result = await runToRest(createBench().engine, graphOf('named', [router, ...others], links));
  expect(result).toMatchObject({ status: 'completed', skipped: ['b'], state: { outputs: { a: 1 } } });
});

it('G8 an outcome whose reducer failed leads nowhere that it named', async () => {
  const broken = {
    name: 'broken',
    reduce: (): never => {
      throw new Error('no');
    },
  };
  const writer = node('w', 'pure', () => outcome({ scratch: { x: 1 }, goto: 'a' }));
  const graph = graphOf('named-failed', [writer, node('a', 'pure', () => 1)], edges('> w', 'w > a', 'a >'), {
    reducers: { 'scratch.x': broken },
  });
  const result = await runToRest(createBench().engine, graph);
  expect(result).toMatchObject({ status: 'failed', failed: ['w'] });
  expect(result.state.outputs).toEqual({});
});

it.each(['skip-dependents', 'continue'] as const)(
  'G4 maxVisits ends a loop that goes on after failures (%s)',
  async (onFailure) => {
    let visits = 0;
    const failing = node(
      'a',
      'pure',
      () => {
        visits += 1;
        throw new Error('again');
      },
      { maxVisits: 3, onFailure },
    );
    const links = [...edges('> a', 'a >'), { from: 'a', to: 'a', on: 'any' as const }];
    const result = await runToRest(createBench().engine, graphOf('endless', [failing], links));
    expect(result.status).toBe('completed');
    expect(visits).toBe(3);
  },
);
