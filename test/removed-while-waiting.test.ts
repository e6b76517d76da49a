/** Nodes that a deploy removes while runs wait at them, and states that a deploy brings to another form. */
import { describe, expect, test } from 'vitest';
import {
  AgentGraph,
  createMemoryStore,
  END,
  humanNode,
  openHistory,
  outcome,
  START,
  subgraphNode,
  type NodeContext,
} from '../src/index.ts';
import type { Migration } from '../src/graph/graph.ts';

import { until } from './support/awaited.ts';
import { afterCrash, createBench, graphOf } from './engine-kit.ts';

type Store = ReturnType<typeof createMemoryStore>;
const question = humanNode({ prompt: 'Pay it?', choices: ['yes', 'no'] });

function paying(store: Store, hasQuestion: boolean) {
  const graph = new AgentGraph({}, { id: 'pay' })
    .addNode('price', () => 40)
    .addNode('pay', ({ state }) => `paid ${state.outputs.price}`, { effectClass: 'external' })
    .addEdge(START, 'price')
    .addEdge('pay', END);
  if (hasQuestion) graph.addNode('ask', question).addEdge('price', 'ask').addEdge('ask', 'pay');
  else graph.addEdge('price', 'pay');
  return graph.compile({ store });
}

async function changesOf(store: Store, runId: string): Promise<string> {
  const parts: unknown[] = [];
  for await (const { change } of openHistory(store).log(runId)) parts.push(...change);
  return JSON.stringify(parts);
}

describe('H3 a node is removed at which a run waits', () => {
  test('H3 its question is closed as changed, and the run goes on as the new graph leads', async () => {
    const store = createMemoryStore();
    await paying(store, true).invoke({}, { runId: 'r' });
    const after = paying(store, false);
    const rows = await after.preview('r');
    expect(rows.map(({ node, prediction }) => `${node.join('/')} ${prediction}`)).toEqual([
      'price restored',
      'pay runs',
    ]);
    const { findings } = await after.engine.check('r', { graph: after.graph });
    expect(findings.map(({ kind, node, why }) => `${kind} ${node}: ${why}`)).toEqual([
      'loses ask: removed while it waits: the run goes on without an answer to its question',
      'asks ask: its question is closed as changed: an answer to it is kept and not used',
    ]);
    const result = await after.resume('r');
    expect([result.status, result.state.outputs.pay, result.waits]).toEqual(['completed', 'paid 40', []]);
    const changes = await changesOf(store, 'r');
    expect(changes).toContain('"kind":"changed","node":["ask"]');
    expect((await store.listWaits({ tenant: 'default', runId: 'r' })).rows).toEqual([]);
  });

  test('H3 an answer that was given to it is kept in the history', async () => {
    const store = createMemoryStore();
    const before = paying(store, true);
    const { waits } = await before.invoke({}, { runId: 'r' });
    await before.engine.answer('r', waits[0]?.waitId ?? '', 'yes', { by: 'ann', stays: true });
    const result = await paying(store, false).resume('r');
    expect(result.status).toBe('completed');
    expect(await changesOf(store, 'r')).toContain('"by":"ann","detail":{"answer":"yes"}');
  });

  const fn = (id: string, run: () => unknown = () => id, effect: 'pure' | 'write' = 'write') =>
    ({ id, type: 'function', effect, implementation: { run } }) as const;
  const lineOf = (...nodes: readonly ReturnType<typeof fn>[]) =>
    graphOf(
      'g',
      nodes,
      [START, ...nodes.map(({ id }) => id)].map((from, index) => ({ from, to: nodes[index]?.id ?? END })),
    );

  test.each([
    ['removed', lineOf(fn('a'), fn('last')), ['last']],
    ['replaced', lineOf(fn('a'), fn('cost'), fn('last')), ['cost', 'last']],
    ['removed with all before it', lineOf(fn('last')), ['last']],
  ])('H3 a run that stood between a node that is %s and the next one goes on to that', async (_, after, done) => {
    const bench = createBench();
    const hanging = new Promise<never>(() => {});
    const before = lineOf(
      fn('a'),
      fn('price'),
      fn('last', () => hanging, 'pure'),
    );
    bench.engine.know(before);
    await bench.engine.start(before, {}, { runId: 'r' });
    const standing = async () => (await bench.engine.inspect('r')).state.outputs['price'];
    await until('it stands before the last', async () => (await standing()) !== undefined);
    const result = await (await afterCrash(bench).resume('r', { graph: after })).result();
    expect([result.status, result.skipped]).toEqual(['completed', []]);
    for (const id of done) expect(result.state.outputs[id]).toBe(id);
  });

  test('H3 a node that has begun more than to wait is not dropped', async () => {
    const store = createMemoryStore();
    const selling = (id: 'sell' | 'other') =>
      new AgentGraph({}, { id: 'sell' })
        .addNode('price', () => 40)
        .addNode(id, async (ctx: NodeContext) => {
          await ctx.step('charge', { effect: 'external' }, () => 'charged');
          return ctx.ask({ prompt: 'Pack it?', choices: ['yes', 'no'] });
        })
        .addEdge(START, 'price')
        .addEdge('price', id)
        .addEdge(id, END)
        .compile({ store });
    await selling('sell').invoke({}, { runId: 'r' });
    await expect(selling('other').resume('r')).rejects.toMatchObject({ code: 'RUN_GRAPH_CHANGED' });
  });
});

describe('H3 migrations', () => {
  const counting = (store: Store, migrations?: readonly Migration[]) =>
    new AgentGraph({}, { id: 'count', reducers: {} })
      .addNode('count', () => outcome({ scratch: { total: 2 } }))
      .addNode('ask', (ctx: NodeContext) => {
        const { total, sum } = ctx.state.scratch as Record<string, unknown>;
        return ctx.ask({ prompt: `${String(total)} ${String(sum)}`, name: 'q' });
      })
      .addEdge(START, 'count')
      .addEdge('count', 'ask')
      .addEdge('ask', END)
      .compile({ store, ...(migrations && { migrations }) });
  const toSum: Migration = {
    to: 2,
    up: ({ scratch }) => ({ scratch: { sum: (scratch as { total: number }).total * 10 } }),
  };

  test('H3 a state is migrated once, before anything goes on; open visits see it so, and it is on record', async () => {
    const store = createMemoryStore();
    const before = counting(store);
    await before.engine.start(before.graph, {}, { runId: 'r' }).then((handle) => handle.result());
    const after = counting(store, [toSum]);
    const result = await after.resume('r');
    expect(result.state.scratch).toEqual({ sum: 20 });
    expect(result.waits.map(({ prompt }) => prompt)).toEqual(['undefined 20']);
    expect(await changesOf(store, 'r')).toContain('from version 1 to 2');
    await counting(store, [toSum]).resume('r');
    expect((await after.resume('r')).state.scratch).toEqual({ sum: 20 });
  });

  test('H3 a migration that fails refuses the run, and leaves it as it is', async () => {
    const store = createMemoryStore();
    await counting(store).invoke({}, { runId: 'r' });
    const failing = counting(store, [{ to: 2, up: () => { throw new Error('no total'); } }]); // prettier-ignore
    await expect(failing.resume('r')).rejects.toThrow(/the migration to version 2 failed: no total/u);
    expect((await counting(store).resume('r')).status).toBe('paused');
  });

  test('H3 a run that went on with newer code is refused by older code, by the versions', async () => {
    const store = createMemoryStore();
    await counting(store, [toSum]).invoke({}, { runId: 'r' });
    await expect(counting(store).resume('r')).rejects.toThrow(/of version 2, and this code knows 1/u);
  });

  test('H3 a child run that is under way is migrated by its own graph, and begins with the newest version', async () => {
    const store = createMemoryStore();
    const outer = (migrations?: readonly Migration[]) =>
      new AgentGraph({}, { id: 'outer' })
        .addNode(
          'inner',
          subgraphNode(counting(store, migrations), { output: ({ state }) => ({ output: state.scratch }) }),
        )
        .addEdge(START, 'inner')
        .addEdge('inner', END)
        .compile({ store });
    await outer().invoke({}, { runId: 'r' });
    const failing = outer([{ to: 2, up: () => { throw new Error('no total'); } }]); // prettier-ignore
    await expect(failing.resume('r')).rejects.toThrow(/the migration to version 2 failed: no total/u);
    const { waits } = await outer([toSum]).resume('r');
    expect(waits.map(({ prompt }) => prompt)).toEqual(['undefined 20']);
    expect(await changesOf(store, 'r')).toContain('inner: from version 1 to 2');
    await expect(outer().resume('r')).rejects.toThrow(/the state of inner is of version 2, and this code knows 1/u);
    const { state } = await outer([toSum]).resume('r', { answers: { q: 'ok' } as never });
    expect(state.outputs.inner).toEqual({ sum: 20 });
    const fresh = await outer([toSum]).invoke({}, { runId: 'fresh' });
    expect(fresh.waits.map(({ prompt }) => prompt)).toEqual(['2 undefined']);
  });

  test('H3 versions of migrations grow', () => {
    const up = (): Record<string, unknown> => ({});
    expect(() => counting(createMemoryStore(), [{ to: 1, up }])).toThrow(/H3 error migration 1/u);
    expect(() => counting(createMemoryStore(), [{ to: 3, up }, { to: 2, up }])).toThrow(/H3 error migration 2/u); // prettier-ignore
  });
});

test('G1 what a function uses of the code around it counts as its code: a fork runs again what has changed', async () => {
  const store = createMemoryStore();
  const writing = (PROMPT: string) =>
    new AgentGraph({}, { id: 'write' })
      .addNode('prompt', () => PROMPT, { uses: { PROMPT } })
      .addNode('other', () => 'same')
      .addEdge(START, 'prompt')
      .addEdge('prompt', 'other')
      .addEdge('other', END)
      .compile({ store });
  await writing('one').invoke({}, { runId: 'r' });
  const predictions = async (prompt: string): Promise<unknown> =>
    (await writing(prompt).preview('r@0', { asFork: true })).map(({ prediction }) => prediction);
  expect(await predictions('one')).toEqual(['reused', 'reused']);
  expect(await predictions('two')).toEqual(['runs again', 'unknown']);
  expect(() => new AgentGraph({}).addNode('a', () => 1, { uses: { now: Symbol('x') } }).toGraph()).toThrow(/uses/u);
});
