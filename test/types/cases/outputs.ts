/** Each builder's output is known to the nodes after it, and so is what its functions are given. Type-checked, never run. */
import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import {
  AgentGraph,
  END,
  fileNode,
  functionNode,
  guardrailNode,
  httpNode,
  humanNode,
  mapNode,
  outcome,
  routerNode,
  schedule,
  shellNode,
  START,
  subgraphNode,
  toolNode,
  workflow,
} from '../../../src/index.ts';

const child = new AgentGraph({ input: z.object({ q: z.string() }), artifacts: z.object({ r: z.number() }) })
  .addNode('a', () => outcome({ artifacts: { r: 1 } }))
  .addEdge(START, 'a')
  .addEdge('a', END)
  .compile();

const sum = {
  name: 'sum',
  schema: z.object({ a: z.number() }),
  execute: async (args: { a: number }) => ({ sum: args.a + 1 }),
};

const schemas = { input: z.object({ topic: z.string() }), scratch: z.object({ n: z.number() }) };

export const graph = new AgentGraph(schemas)
  .addNode('plain', () => outcome({ output: { words: 3 }, scratch: { n: 1 } }))
  .addNode('silent', async () => outcome({ scratch: { n: 1 } }))
  .addNode('either', ({ state }) => (state.scratch.n === 2 ? 'x' : outcome({ output: 3 })))
  .addNode(
    'built',
    functionNode(({ state, input }) => outcome({ output: `${state.outputs.either} ${input.topic}` })),
  )
  .addNode('asked', async (ctx) => ctx.ask({ prompt: 'Which?', choices: ['a', 'b'] }))
  .addNode(
    'router',
    routerNode(({ state }) => (state.scratch.n === 2 ? 'shell' : 'http')),
  )
  .addNode('guard', guardrailNode({ check: ({ state }) => state.scratch.n === 2 }))
  .addNode('tool', toolNode(sum, { args: ({ state }) => ({ a: state.scratch.n ?? 0 }) }))
  .addNode('shell', shellNode({ command: ['ls', ({ state }) => state.input.topic] }))
  .addNode('http', httpNode({ url: ({ state }) => state.input.topic, as: 'text' }))
  .addNode('checked', httpNode({ url: 'http://localhost', as: z.object({ id: z.string() }) }))
  .addNode('text', fileNode({ action: 'read', path: ({ state }) => state.input.topic }))
  .addNode('bytes', fileNode({ action: 'read', path: 'x', encoding: 'bytes' }))
  .addNode('written', fileNode({ action: 'write', path: 'x', content: ({ state }) => state.outputs.text ?? '' }))
  .addNode('sub', subgraphNode(child, { input: ({ state }) => ({ q: state.input.topic }) }))
  .addNode('mended', subgraphNode(child, { output: ({ state }) => ({ output: state.artifacts.r ?? 0 }) }))
  .addNode(
    'map',
    mapNode({
      over: ({ state }) => [state.input.topic],
      key: ({ item }) => item.toUpperCase(),
      each: ({ item, index, idempotencyKey }) => item.length + index + idempotencyKey.length,
    }),
  )
  .addNode('tried', mapNode({ over: () => [1], each: async ({ item }) => item > 0, continueOnError: true }))
  .addNode('children', mapNode({ over: ({ state }) => [{ q: state.input.topic }], each: child }))
  .addNode('end', ({ state: { outputs } }) => {
    expectTypeOf(outputs.plain).toEqualTypeOf<{ words: number } | undefined>();
    expectTypeOf(outputs.silent).toEqualTypeOf<undefined>();
    expectTypeOf(outputs.either).toEqualTypeOf<string | number | undefined>();
    expectTypeOf(outputs.built).toEqualTypeOf<string | undefined>();
    expectTypeOf(outputs.asked).toEqualTypeOf<'a' | 'b' | undefined>();
    expectTypeOf(outputs.router).toEqualTypeOf<'shell' | 'http' | undefined>();
    expectTypeOf(outputs.guard?.passed).toEqualTypeOf<boolean | undefined>();
    expectTypeOf(outputs.tool).toEqualTypeOf<{ sum: number } | undefined>();
    expectTypeOf(outputs.shell?.stdout).toEqualTypeOf<string | undefined>();
    expectTypeOf(outputs.http?.body).toEqualTypeOf<string | undefined>();
    expectTypeOf(outputs.checked?.body.id).toEqualTypeOf<string | undefined>();
    expectTypeOf(outputs.text).toEqualTypeOf<string | undefined>();
    expectTypeOf(outputs.bytes).toEqualTypeOf<Uint8Array | undefined>();
    expectTypeOf(outputs.written?.sha256).toEqualTypeOf<string | undefined>();
    expectTypeOf(outputs.sub?.r).toEqualTypeOf<number | undefined>();
    expectTypeOf(outputs.mended).toEqualTypeOf<number | undefined>();
    expectTypeOf(outputs.map).toEqualTypeOf<readonly number[] | undefined>();
    const tried = outputs.tried?.[0];
    if (tried?.status === 'completed') expectTypeOf(tried.value).toEqualTypeOf<boolean>();
    expectTypeOf(outputs.children?.[0]?.r).toEqualTypeOf<number | undefined>();
    // @ts-expect-error no such node
    void outputs.shel;
  })
  .compile();

type Outputs = Awaited<ReturnType<typeof graph.invoke>>['state']['outputs'];
expectTypeOf<Outputs['text']>().toEqualTypeOf<string | undefined>();

// @ts-expect-error the child takes { q }
subgraphNode(child, { input: () => ({ topic: 'x' }) });
// @ts-expect-error the tool takes a number
toolNode({ name: 't', execute: (args: { a: number }) => args.a, reconcile: ({ args }) => args.b });
// @ts-expect-error a body is read in one of four ways, or as a schema says
httpNode({ url: 'x', as: 'yaml' });

/** In a loop a node reads what one further down gave. */
export const loop = new AgentGraph({})
  .later<{ review: 'good' | 'poor' }>()
  .addNode('draft', ({ state }) => (state.outputs.review === 'poor' ? 'again' : 'first'))
  .addNode('review', humanNode({ prompt: 'Good?', choices: ['good', 'poor'] }))
  .addEdge('review', 'draft', { when: ({ state }) => state.outputs.review === 'poor' });

export const flow = workflow('flow')
  .input(z.object({ topic: z.string() }))
  .step('list', shellNode({ command: ['ls', ({ state }) => state.input.topic] }))
  .step('count', ({ state }) => state.artifacts.list?.stdout.length ?? 0, { outputAs: 'size' })
  .branch(
    ({ state }) => {
      expectTypeOf(state.artifacts.size).toEqualTypeOf<number | undefined>();
      return 'ask';
    },
    { ask: humanNode({ prompt: ({ state }) => `${state.artifacts.size}?`, choices: ['yes', 'no'] }) },
  )
  .returns(({ state }) => {
    // @ts-expect-error no such step
    void state.artifacts.siz;
    return state.artifacts.ask;
  })
  .compile();
expectTypeOf<Awaited<ReturnType<typeof flow.invoke>>['output']>().toEqualTypeOf<'yes' | 'no' | undefined>();

schedule(child, { cron: '@daily', input: { q: 'x' } });
schedule(flow, { cron: '@daily', input: { topic: 'x' } });
// @ts-expect-error the graph takes { q: string }
schedule(child, { cron: '@daily', input: { q: 1 } });
// @ts-expect-error the workflow takes { topic }
schedule(flow, { cron: '@daily', input: { topics: 'x' } });
