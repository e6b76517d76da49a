/** What open runs would do under new code, told before it is deployed. */
import { describe, expect, test } from 'vitest';
import type { RunCheck } from '../src/engine/run-check.ts';
import { createHandler } from '../src/http/index.ts';
import { AgentGraph, createMemoryStore, END, humanNode, START, type NodeContext } from '../src/index.ts';

const choices = ['yes', 'no'];
type Work = (ctx: NodeContext) => unknown;

interface Parts {
  readonly prompt?: string;
  readonly price?: boolean;
  readonly sell?: Work;
  readonly added?: 'before' | 'after';
  readonly computed?: (amount: unknown) => string;
  readonly version?: string;
}

/** price, a question, and a node with steps; what is left out or added is a deploy. */
function graphOf(
  store: ReturnType<typeof createMemoryStore>,
  { prompt = 'Pay?', price = true, sell, added, computed, version }: Parts = {},
) {
  const graph = new AgentGraph({}, { id: 'pay' });
  const add = (id: string, work: unknown): void =>
    (graph as never as { addNode: (...of: unknown[]) => void }).addNode(id, work);
  const ids = [
    ...(price ? ['price'] : []),
    ...(added === 'before' ? ['score'] : []),
    'ask',
    ...(added === 'after' ? ['tell'] : []),
    'sell',
  ];
  const works: Readonly<Record<string, unknown>> = {
    price: () => 40,
    score: () => 1,
    tell: () => 'told',
    ask: humanNode({
      prompt:
        computed === undefined ? prompt : ({ state }) => computed((state.outputs as Record<string, unknown>)['price']),
      choices,
    }),
    sell:
      sell ??
      (async (ctx: NodeContext) => {
        await ctx.step('charge', { effect: 'external' }, () => 'charged');
        return ctx.ask({ prompt: 'Pack it?', choices: ['yes', 'no'] });
      }),
  };
  for (const id of ids) add(id, works[id]);
  for (const [at, id] of [START, ...ids].entries())
    (graph as never as { addEdge: (...of: unknown[]) => void }).addEdge(id, ids[at] ?? END);
  return graph.compile({ store, ...(version !== undefined && { version }) });
}

const told = ({ findings }: RunCheck): readonly string[] =>
  findings.map(({ kind, node = '', why }) => `${kind} ${node}: ${why}`);

/** A run at the question, and one in the node with steps. */
async function waiting(): Promise<{
  readonly store: ReturnType<typeof createMemoryStore>;
  readonly check: (parts: Parts, runId?: string, replay?: boolean) => Promise<readonly string[]>;
}> {
  const store = createMemoryStore();
  const before = graphOf(store);
  await before.invoke({}, { runId: 'asked' });
  await before.invoke({}, { runId: 'sold' });
  await before.resume('sold', { answers: { ask: 'yes' } as never });
  return {
    store,
    check: async (parts, runId = 'asked', replay = false) => {
      const { graph, engine } = graphOf(store, parts);
      return told(await engine.check(runId, { graph, replay }));
    },
  };
}

describe('X5.4', () => {
  test('X5.4 a run whose code is the same goes on', async () => {
    const { check } = await waiting();
    expect(await check({})).toEqual([]);
  });

  test('X5.4 a changed question is asked anew, whether its words are data or made of the state', async () => {
    const { check, store } = await waiting();
    expect(await check({ prompt: 'Pay it?' })).toContain(
      'asks ask: its question is another one now: the old one is closed as changed',
    );
    const words = (amount: unknown): string => `Pay ${String(amount)}?`;
    await graphOf(store, { computed: words }).invoke({}, { runId: 'computed' });
    expect(
      (await check({ computed: (amount) => `Pay ${String(amount)}?`, added: 'after' }, 'computed')).join(),
    ).not.toContain('asks');
    expect((await check({ computed: (amount) => `Pay ${String(amount)} now?` }, 'computed')).join()).toContain(
      'asks ask',
    );
  });

  test('X5.4 a removed node loses what it recorded, an added one is skipped or is ahead', async () => {
    const { check } = await waiting();
    expect(await check({ price: false })).toContain(
      'loses price: removed: its output stays on record, and nobody reads it',
    );
    expect(await check({ added: 'before' })).toContain('differs score: added, and skipped: the run is past it');
    expect(await check({ added: 'after' })).toContain('differs tell: added ahead');
  });

  test('X5.4 effects that would be left out brick a run, as a resume says, and a pure node that is moved is skipped', async () => {
    const store = createMemoryStore();
    const line = (ids: readonly string[]) => {
      const graph = new AgentGraph({}, { id: 'pay' })
        .addNode('ask', humanNode({ prompt: 'Pay?', choices }))
        .addNode('note', () => 1)
        .addNode('pay', () => 'paid', { effectClass: 'external' });
      for (const [at, id] of ids.entries()) graph.addEdge((ids[at - 1] ?? START) as never, id as never);
      return graph.addEdge(ids.at(-1) as never, END).compile({ store });
    };
    await line(['ask', 'note', 'pay']).invoke({}, { runId: 'r' });
    const check = async (ids: readonly string[], leaveOutAdded?: boolean) => {
      const { engine, graph } = line(ids);
      return told(await engine.check('r', { graph, ...(leaveOutAdded !== undefined && { leaveOutAdded }) }));
    };
    const moved = 'moved, and skipped: it was ahead, and the run is past where it is now';
    expect(await check(['note', 'ask', 'pay'])).toEqual([`differs note: ${moved}`]);
    expect(await check(['note', 'pay', 'ask'])).toEqual([
      'bricks : node moved: pay; the run is past it: it is never run; a resume is refused unless it leaves it out (leaveOutAdded)',
    ]);
    expect(await check(['note', 'pay', 'ask'], true)).toEqual([`differs note: ${moved}`, `differs pay: ${moved}`]);
    const { graph } = line(['note', 'pay', 'ask']);
    await expect(line(['ask', 'note', 'pay']).engine.resume('r', { graph })).rejects.toMatchObject({
      code: 'RUN_GRAPH_CHANGED',
    });
  });

  test('X5.4 a replay tells that a child run would be refused: another one is on record, or the node at which it stands is gone', async () => {
    const store = createMemoryStore();
    const parent = (name: string, asks: string) => {
      const child = new AgentGraph({}, { id: 'child' })
        .addNode(asks, humanNode({ prompt: 'Pay?', choices }))
        .addNode('pay', () => 'paid', { effectClass: 'external' })
        .addEdge(START, asks)
        .addEdge(asks, 'pay')
        .addEdge('pay', END);
      return new AgentGraph({}, { id: 'parent' })
        .addNode('sub', async (ctx) => (await ctx.run(child, {}, { name })).status)
        .addEdge(START, 'sub')
        .addEdge('sub', END)
        .compile({ store });
    };
    await parent('one', 'ask').invoke({}, { runId: 'r' });
    const check = async (name: string, asks: string) => {
      const { engine, graph } = parent(name, asks);
      return told(await engine.check('r', { graph, replay: true }));
    };
    expect(await check('one', 'ask')).toEqual([]);
    expect((await check('two', 'ask')).join()).toMatch(/^bricks sub: STEPS_CHANGED.* two .*: one/u);
    expect((await check('one', 'approve')).join()).toMatch(/^bricks sub: NODE_CALL_REFUSED.*one stands at node ask/u);
  });

  test('X5.4 a replay tells that a function would begin another effect, and begins nothing', async () => {
    const { check } = await waiting();
    const begun: string[] = [];
    const renamed: Work = async (ctx) => {
      await ctx.step('charge card', { effect: 'external' }, () => begun.push('charge card'));
      return ctx.ask({ prompt: 'Pack it?', choices: ['yes', 'no'] });
    };
    expect((await check({ sell: renamed }, 'sold', true)).join()).toMatch(/bricks sell: STEPS_CHANGED/u);
    const more: Work = async (ctx) => {
      await ctx.step('charge', { effect: 'external' }, () => begun.push('charge'));
      await ctx.step('note', { effect: 'pure' }, () => begun.push('note'));
      return ctx.ask({ prompt: 'Pack it?', choices: ['yes', 'no'] });
    };
    expect(await check({ sell: more }, 'sold', true)).toEqual([
      'again sell: its code has changed; goes on with step note',
    ]);
    const other: Work = async (ctx) => {
      await ctx.step('charge', { effect: 'external' }, () => begun.push('charge'));
      return ctx.ask({ prompt: 'Pack it now?', choices: ['yes', 'no'] });
    };
    expect((await check({ sell: other }, 'sold', true)).join()).toContain('asks sell: its question is another one');
    const captured =
      (name: string): Work =>
      async (ctx) => {
        await ctx.step(name, { effect: 'external' }, () => begun.push(name));
        return ctx.ask({ prompt: 'Pack it?', choices: ['yes', 'no'] });
      };
    const { graph } = graphOf(createMemoryStore(), { sell: captured('charge card') });
    expect(graph.hash).toBe(graphOf(createMemoryStore(), { sell: captured('charge') }).graph.hash);
    expect((await check({ sell: captured('charge card') }, 'sold', true)).join()).toMatch(
      /bricks sell: STEPS_CHANGED/u,
    );
    const failing: Work = () => Promise.reject(new Error('no'));
    expect((await check({ sell: failing }, 'sold', true)).join()).toContain('bricks sell: FUNCTION_FAILED: no');
    expect(begun).toEqual([]);
  });

  test('X5.4 nothing of the store is other than before', async () => {
    const { check, store } = await waiting();
    const rows = async () =>
      JSON.stringify(await store.listRuns({ tenant: 'default' }), (_, value: unknown) =>
        value instanceof Uint8Array ? [...value] : value,
      );
    const before = await rows();
    await check({ prompt: 'Pay it?' });
    await check({ price: false }, 'sold', true);
    expect(await rows()).toBe(before);
  });

  test('X5.4 over HTTP, runs are checked under the code that the server has', async () => {
    const store = createMemoryStore();
    await graphOf(store).invoke({}, { runId: 'asked' });
    const handler = createHandler({
      graphs: [graphOf(store, { prompt: 'Pay it?' })],
      authorize: () => ({ kind: 'person', principal: 'ann', scopes: ['read'] }),
    });
    const response = await handler(new Request('http://localhost/v1/check'));
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { count: 1, verdicts: { asks: 1 }, isFailing: false, groups: [{ graphId: 'pay', runs: ['asked'] }] },
    ]);
  });

  test('X5.4 nodes that say neither uses nor a version are named once: what their functions captured is not known', async () => {
    const store = createMemoryStore();
    await graphOf(store).invoke({}, { runId: 'asked' });
    const { graph, engine } = graphOf(store);
    expect((await engine.check('asked', { graph })).sameSource).toEqual(['price']);
    const named = graphOf(store, { version: 'v2' });
    const { findings, sameSource } = await named.engine.check('asked', { graph: named.graph });
    expect([findings, sameSource]).toEqual([[], []]);
    const rows = await named.preview('asked');
    expect(rows.map(({ node, prediction, because }) => [node.join('/'), prediction, because])).toContainEqual([
      'price',
      'restored',
      'its code has changed; what is on record stands',
    ]);
  });
});
