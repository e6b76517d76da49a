/** What the type checker knows of a graph. `tsc` is the judge: a line below `@ts-expect-error` must be refused. */
import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { END, functionNode, outcome, START, workflow, AgentGraph, type NodeContext } from '../../src/index.ts';

const schemas = {
  input: z.object({ topic: z.string(), depth: z.number().default(2) }),
  scratch: z.object({ notes: z.array(z.string()), confidence: z.number(), rounds: z.number().default(0) }),
  artifacts: z.object({ report: z.string() }),
};

test('G1 state, input and outputs have the types of the schemas and of the nodes before', () => {
  const graph = new AgentGraph(schemas)
    .addNode('gather', ({ state, input }) => {
      expectTypeOf(state.input).toEqualTypeOf<{ topic: string; depth: number }>();
      expectTypeOf(input.depth).toEqualTypeOf<number>();
      // A channel with a default is there from the start.
      expectTypeOf(state.scratch.rounds).toEqualTypeOf<number>();
      expectTypeOf(state.scratch.notes).toEqualTypeOf<string[] | undefined>();
      expectTypeOf(state.artifacts.report).toEqualTypeOf<string | undefined>();
      return [state.input.topic];
    })
    .addNode('write', async ({ state }) => {
      expectTypeOf(state.outputs.gather).toEqualTypeOf<string[] | undefined>();
      // @ts-expect-error no node of this name was added
      void state.outputs.later;
      // @ts-expect-error no such channel
      void state.scratch.mood;
      return { words: 3 };
    })
    .addNode(
      'polish',
      functionNode(() => outcome({ artifacts: { report: '' } })),
    )
    .addNode('check', ({ state }) => {
      expectTypeOf(state.outputs.write).toEqualTypeOf<{ words: number } | undefined>();
      expectTypeOf(state.outputs.polish).toEqualTypeOf<undefined>();
      return outcome({ scratch: { confidence: 1 } });
    })
    .addEdge(START, 'gather')
    .addEdge('gather', 'write', { when: ({ state }) => (state.scratch.confidence ?? 0) > 0.5 })
    .addConditionalEdge('write', ({ state }) => (state.outputs.write?.words === 3 ? 'check' : END), ['check', END])
    .addConditionalEdge('check', ({ state }) => (state.scratch.confidence === 1 ? 'done' : 'more'), {
      done: END,
      more: 'gather',
    });

  const compiled = () => graph.compile();
  type Compiled = ReturnType<typeof compiled>;
  expectTypeOf<Parameters<Compiled['invoke']>[0]>().toEqualTypeOf<{ topic: string; depth?: number | undefined }>();
  type Result = Awaited<ReturnType<Compiled['invoke']>>;
  expectTypeOf<Result['state']['artifacts']['report']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<Result['status']>().toEqualTypeOf<
    'running' | 'paused' | 'cancelling' | 'completed' | 'failed' | 'cancelled'
  >();
  expect(graph).toBeInstanceOf(AgentGraph);
});

test('G7 an edge to a node that was not added is a type error', () => {
  const graph = new AgentGraph({}).addNode('a', () => 1).addNode('b', () => 2);
  // @ts-expect-error no node c
  graph.addEdge('a', 'c');
  // @ts-expect-error END has no outgoing edges
  graph.addEdge(END, 'a');
  // @ts-expect-error nothing leads to START
  graph.addEdge('a', START);
  // @ts-expect-error c is no node
  graph.addConditionalEdge('a', () => 'b', ['b', 'c']);
  // @ts-expect-error the choice names what is none of its targets
  graph.addConditionalEdge('a', () => 'a', ['b']);
  // @ts-expect-error no such option
  graph.addEdge('a', 'b', { color: 'red' });
  expect(graph).toBeInstanceOf(AgentGraph);
});

test('G1 a graph made in a loop says so in its type', () => {
  const graph: AgentGraph = new AgentGraph({});
  for (let index = 0; index < 3; index += 1) graph.addNode(`n${index}`, () => index);
  graph.addEdge(START, 'n0').addEdge('n0', 'n1').addEdge('n1', 'n2').addEdge('n2', END);
  expect(graph.toGraph().nodes).toHaveLength(5);
});

test('G1 a workflow knows its steps, its arms and its result', () => {
  const flow = workflow('report', { scratch: z.object({ seen: z.number() }) })
    .input(z.object({ topic: z.string() }))
    .step('fetch', ({ input }) => input.topic.length)
    .branch(
      ({ state: { artifacts, scratch } }) => {
        expectTypeOf(artifacts.fetch).toEqualTypeOf<number | undefined>();
        expectTypeOf(scratch.seen).toEqualTypeOf<number | undefined>();
        return (artifacts.fetch ?? 0) > 3 ? 'long' : 'short';
      },
      (arm) => ({
        long: arm.step('outline', () => ['a']).then('draft', ({ state }) => state.artifacts.outline?.join('') ?? ''),
        short: ({ state }) => state.artifacts.fetch,
      }),
    )
    .parallel({ spell: ({ state }) => state.artifacts.draft, style: () => true }, { join: 'any' })
    .then('end', ({ state }) => {
      expectTypeOf(state.artifacts.draft).toEqualTypeOf<string | undefined>();
      expectTypeOf(state.artifacts.short).toEqualTypeOf<number | undefined>();
      expectTypeOf(state.artifacts.style).toEqualTypeOf<boolean | undefined>();
    })
    .returns(({ state }) => ({ text: state.artifacts.draft ?? '' }));
  const compiled = () => flow.compile();
  type Result = Awaited<ReturnType<ReturnType<typeof compiled>['invoke']>>;
  expectTypeOf<Result['output']>().toEqualTypeOf<{ text: string } | undefined>();

  const checked = () => flow.returns(z.object({ fetch: z.number() })).compile();
  type Checked = Awaited<ReturnType<ReturnType<typeof checked>['invoke']>>;
  expectTypeOf<Checked['output']>().toEqualTypeOf<{ fetch: number } | undefined>();

  // @ts-expect-error the choice names no arm
  flow.branch(() => 'other', { one: () => 1 });
  expect(flow.toGraph().id).toBe('report');
});

test('G1 a signal has the type of its schema, and is unknown without one', () => {
  const receives = async (ctx: NodeContext): Promise<void> => {
    const schema = z.object({ amount: z.coerce.number() });
    expectTypeOf(await ctx.receive('paid')).toEqualTypeOf<unknown>();
    expectTypeOf(await ctx.receive('paid', { timeoutMs: 5, defaultValue: 1 })).toEqualTypeOf<unknown>();
    expectTypeOf(await ctx.receive('paid', { schema, timeoutMs: 5 })).toEqualTypeOf<{ amount: number }>();
    expectTypeOf(await ctx.receive('paid', { schema, waits: false })).toEqualTypeOf<{ amount: number } | undefined>();
    // @ts-expect-error no such option
    await ctx.receive('paid', { timeout: 5 });
  };
  expect(receives).toBeTypeOf('function');
});
