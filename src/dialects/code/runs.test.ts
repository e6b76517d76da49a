/** Runs of compiled graphs, where several parts of the system meet. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { chain, later, open } from '../../../test/support/small-graphs.ts';
import { createSystemIds } from '../../app/system-ids.ts';
import { END, humanNode, mapNode, START, workflow } from '../../index.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';

test('G6 a choice sees the output of the node that it follows, also after an answer and in a later visit', async () => {
  const seen: unknown[] = [];
  const compiled = open()
    .addNode('ask', humanNode({ prompt: 'Again?', choices: ['yes', 'no'] }), { outputAs: 'reply' })
    .addEdge(START, 'ask')
    .addConditionalEdge(
      'ask',
      ({ outputs, artifacts }, outcome) => {
        seen.push([outputs['ask'], artifacts['reply'], outcome.output]);
        return outputs['ask'] === 'yes' ? 'ask' : END;
      },
      ['ask', END],
    )
    .compile();
  const { runId } = await compiled.invoke({});
  expect((await compiled.resume(runId, { answers: { ask: 'yes' } })).status).toBe('paused');
  expect((await compiled.resume(runId, { answers: { ask: 'no' } })).status).toBe('completed');
  expect(seen).toEqual([
    ['yes', 'yes', 'yes'],
    ['no', 'no', 'no'],
  ]);
});

test('G6 a condition sees the output of a map, which is kept in its steps', async () => {
  const graph = open()
    .addNode('map', mapNode({ over: () => [1, 2], each: (item) => item * 2 }))
    .addNode('next', () => 'ran')
    .addEdge(START, 'map')
    .addEdge('map', 'next', {
      when: ({ state, outcome }) => JSON.stringify([state.outputs['map'], outcome.output]) === '[[2,4],[2,4]]',
    })
    .addEdge('next', END);
  expect((await graph.compile().invoke({})).state.outputs['next']).toBe('ran');
});

test('P1 a race goes on from each of its checkpoints, whether or not its loser was still running', async () => {
  const flow = workflow('race')
    .input(z.object({}))
    .step('begin', () => 1)
    .parallel(
      {
        quick: later,
        slow: async () => {
          await later();
          await later();
        },
      },
      { join: 'any' },
    )
    .then('end', () => 'done')
    .returns(({ artifacts }) => artifacts.end)
    .compile();
  const run = await flow.invoke({});
  for (let seq = 0; seq <= run.seq; seq += 1) {
    const forked = await flow.resume(await flow.fork({ runId: run.runId, seq }));
    expect([seq, forked.status, forked.output]).toEqual([seq, 'completed', 'done']);
  }
});

test('P4 two calls for one run at once advance it once, and both get its result', async () => {
  let calls = 0;
  const graph = open().addNode('a', async () => {
    calls += 1;
    await later();
  });
  const compiled = chain(graph, 'a').compile();
  const both = await Promise.all([compiled.invoke({}, { runId: 'one' }), compiled.invoke({}, { runId: 'one' })]);
  expect([calls, both.map(({ status }) => status)]).toEqual([1, ['completed', 'completed']]);
});

test('P4 a worker that lost its run while it worked says so; it does not wait for ever', async () => {
  const store = createMemoryStore();
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const compileWith = (isWorkerDead: boolean) =>
    chain(
      open().addNode('a', () => gate),
      'a',
    ).compile({
      store,
      ids: { ...createSystemIds(), isWorkerDead: () => isWorkerDead },
    });
  const first = compileWith(false);
  const handle = await first.start({}, { runId: 'run' });
  const lost = handle.result();
  const taken = compileWith(true).resume('run');
  await later();
  release();
  await expect(lost).rejects.toMatchObject({ code: 'CLAIM_FENCED' });
  expect((await taken).status).toBe('completed');
});
