/** Runs of compiled graphs, where several parts of the system meet. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { chain, later, open } from '../../../test/support/small-graphs.ts';
import { createSystemIds } from '../../app/process/process-ids.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { AgentGraph, END, humanNode, mapNode, outcome, START, subgraphNode, workflow } from '../../index.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';

test('G6 a choice sees the output of the node that it follows, also after an answer and in a later visit', async () => {
  const seen: unknown[] = [];
  const compiled = open()
    .addNode('ask', humanNode({ prompt: 'Again?', choices: ['yes', 'no'] }), { outputAs: 'reply' })
    .addEdge(START, 'ask')
    .addConditionalEdge(
      'ask',
      ({ state: { outputs, artifacts }, outcome }) => {
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
    .addNode('map', mapNode({ over: () => [1, 2], each: ({ item }) => item * 2 }))
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
    .returns(({ state }) => state.artifacts.end)
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

test('H1 a run and its checkpoints go by the same names in a library as at the command line; beginnings of ids do not', async () => {
  const store = createMemoryStore();
  const graph = chain(
    open({ checkpointPolicy: 'every_node' })
      .addNode('a', () => ({ n: 1 }))
      .addNode('b', () => ({ n: 2 })),
    'a',
    'b',
  );
  const compiled = graph.compile({ store });
  const ended = await compiled.invoke({}, { runId: 'h1' });
  await store.tagCheckpoint({ tenant: 'default', runId: 'h1' }, { name: 'early', seq: 1 });
  const ids: string[] = [];
  for await (const event of compiled.events('h1')) if (event.type === 'checkpoint') ids.push(event.checkpointId);
  expect(ids).toHaveLength(ended.seq + 1);
  const parentOf = async (runId: string): Promise<unknown> =>
    (await store.readRun({ tenant: 'default', runId }))?.parent;
  for (const name of ['h1@1', 'h1@early', `h1@head~${ended.seq - 1}`, ids[1]!]) {
    const resumed = await compiled.resume(name);
    expect([name, resumed.status, await parentOf(resumed.runId)]).toEqual([name, 'completed', { runId: 'h1', seq: 1 }]);
    expect(await parentOf((await compiled.fork(name)).runId)).toEqual({ runId: 'h1', seq: 1 });
    expect(await compiled.preview(name)).toEqual(await compiled.preview({ runId: 'h1', seq: 1 }));
  }
  for (const name of ['h1', 'h1@head', ids.at(-1)!]) expect((await compiled.resume(name)).runId).toBe('h1');
  // An order-1 that is gone is not an order-10 that is there.
  for (const name of ['h', 'h@1', ids[1]!.slice(4), 'h1@nothing', ''])
    await expect(compiled.resume(name)).rejects.toMatchObject({ code: expect.stringMatching(/_NOT_FOUND$/) as string });
  expect(await compiled.engine.locate('h@1', { byPrefix: true })).toEqual({
    runId: 'h1',
    seq: 1,
    checkpointId: ids[1],
    isHead: false,
  });
});

test('H1 events of a fork name the checkpoints of its ancestors as those do', async () => {
  const compiled = chain(
    open().addNode('a', () => ({})),
    'a',
  ).compile();
  const idsOf = async (runId: string): Promise<string[]> => {
    const ids: string[] = [];
    for await (const event of compiled.events(runId)) if (event.type === 'checkpoint') ids.push(event.checkpointId);
    return ids;
  };
  await compiled.invoke({}, { runId: 'first' });
  const fork = await compiled.fork('first@0', { runId: 'second' });
  const live: string[] = [];
  const handle = await compiled.engine.resume(fork.runId, { graph: compiled.graph });
  for await (const event of handle.events()) if (event.type === 'checkpoint') live.push(event.checkpointId);
  const first = await idsOf('first');
  expect(live).toEqual(await idsOf('second'));
  expect(live[0]).toBe(first[0]);
  expect(live.slice(1).some((id) => first.includes(id))).toBe(false);
  for (const id of live) expect((await compiled.engine.locate(id)).checkpointId).toBe(id);
});

test('N13 what compile gives stands for its graph, in a subgraph and for each item of a map', async () => {
  const child = chain(
    open().addNode('double', ({ input }) => outcome({ artifacts: { twice: 2 * (input as number) } })),
    'double',
  ).compile();
  const parent = chain(
    open()
      .addNode('once', subgraphNode(child, { input: () => 4 }))
      .addNode('each', mapNode({ over: () => [1, 2], each: child })),
    'once',
    'each',
  ).compile();
  const { outputs } = (await parent.invoke({})).state;
  expect([outputs['once'], outputs['each']]).toEqual([{ twice: 8 }, [{ twice: 2 }, { twice: 4 }]]);
  expect(parent.graph.hash).toBe(
    chain(
      open()
        .addNode('once', subgraphNode(child.graph, { input: () => 4 }))
        .addNode('each', mapNode({ over: () => [1, 2], each: child.graph })),
      'once',
      'each',
    ).toGraph().hash,
  );
});

test('W3 two questions of one name are answered by their nodes, at a resume and in a fork', async () => {
  const ask = (ctx: Pick<NodeContext, 'ask'>): Promise<string> =>
    ctx.ask({ name: 'title', prompt: 'Title?', schema: { type: 'string' } });
  const compiled = new AgentGraph({}, { id: 'titles' })
    .addNode('book', (ctx) => ask(ctx), { effectClass: 'human' })
    .addNode('film', (ctx) => ask(ctx), { effectClass: 'human' })
    .addEdge(START, 'book')
    .addEdge(START, 'film')
    .addEdge('book', END)
    .addEdge('film', END)
    .compile();
  const { runId } = await compiled.invoke({});
  const { state } = await compiled.resume(runId, { answers: { 'book/title': 'B', 'film/title': 'F' } });
  expect(state.outputs).toEqual({ book: 'B', film: 'F' });
  const fork = await compiled.fork(runId, { answers: { 'book/title': 'B', 'film/title': 'G' } });
  expect((await compiled.resume(fork)).state.outputs).toEqual({ book: 'B', film: 'G' });
});
