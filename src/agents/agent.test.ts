/** Agents over scripted models: what is asked, what is called, and what is on record. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { NodeDraft } from '../graph/node-draft.ts';
import { agentKit } from '../../test/agents/agent-kit.ts';
import { afterCrash, resumeToRest, runToRest } from '../../test/engine-kit.ts';
import { NodeFailure, type StateView } from '../graph/contracts/node-contract.ts';
import { AgentGraph, END, functionNode, START, subgraphNode } from '../index.ts';
import { createScriptedModels, type Script } from '../models/scripted.ts';
import { agent } from './agent.ts';
import { llmNode } from './answers/llm-node.ts';
import { tool } from './tools/tool-box.ts';

const add = tool({
  description: 'Adds.',
  input: z.object({ a: z.number(), b: z.number() }),
  effect: 'pure',
  run: ({ a, b }) => a + b,
});

test('A1 an agent answers with the text of its model', async () => {
  const { bench, models, graph } = agentKit(['Hello.'], { instructions: 'Be brief.' });
  expect((await runToRest(bench.engine, graph)).state.outputs).toEqual({ a: 'Hello.' });
  expect(models.requests.map(({ model, messages }) => ({ model, messages }))).toEqual([
    {
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Go.' },
      ],
    },
  ]);
});

test('A4 an agent calls its tools side by side, and the model sees the results in the order of the calls', async () => {
  const { bench, models, graph } = agentKit(
    [
      {
        calls: [
          { tool: 'add', input: { a: 1, b: 2 } },
          { tool: 'add', input: { a: 3, b: 4 } },
        ],
      },
      'Ten.',
    ],
    { tools: { add } },
  );
  expect((await runToRest(bench.engine, graph)).state.outputs).toEqual({ a: 'Ten.' });
  expect(models.requests[0]?.tools).toMatchObject([
    { name: 'add', description: 'Adds.', inputSchema: { type: 'object' } },
  ]);
  expect(models.requests[1]?.messages.at(-1)).toEqual({
    role: 'tool',
    content: [
      { type: 'tool-result', id: 'call-1-1', tool: 'add', output: 3 },
      { type: 'tool-result', id: 'call-1-2', tool: 'add', output: 7 },
    ],
  });
});

test('A5 a call that cannot be made, and a tool that fails, are told to the model', async () => {
  const broken = tool({
    description: 'Fails.',
    input: { type: 'object' },
    effect: 'external',
    approval: 'never',
    run: () => {
      throw new Error('the receiver hung up');
    },
  });
  const refused = tool({
    description: 'Refuses.',
    input: { type: 'object' },
    approval: 'never',
    run: () => {
      throw new NodeFailure('no such account', { applied: 'no' });
    },
  });
  const calls = [{ tool: 'nothing' }, { tool: 'add', input: { a: '1' } }, { tool: 'broken' }, { tool: 'refused' }];
  const { bench, models, graph } = agentKit([{ calls }, 'I give up.'], { tools: { add, broken, refused } });
  expect((await runToRest(bench.engine, graph)).state.outputs).toEqual({ a: 'I give up.' });
  const told = models.requests[1]?.messages.at(-1)?.content as readonly { output: string; isError: boolean }[];
  expect(told.map(({ output, isError }) => [output, isError])).toEqual([
    ['there is no tool "nothing"; there are: add, broken, refused', true],
    [expect.stringMatching(/^the arguments of add do not fit: arguments\.a: .*arguments\.b: /u), true],
    ['broken failed: the receiver hung up. It is not known whether it took effect.', true],
    ['refused failed: no such account', true],
  ]);
});

test('P6 an option that a tool does not have is refused where the tool is made', () => {
  const parts = { description: 'Does.', input: { type: 'object' } };
  const made = (more: object) => () => tool({ ...parts, ...more } as never);
  expect(made({ run: () => 1, isIdempotent: true })).toThrow(
    /tool knows no option "isIdempotent"; it knows .*idempotent/u,
  );
  expect(made({ run: () => 1, composed: true, idempotent: true })).toThrow(/no option "idempotent"/u);
  expect(made({ node: {}, retry: { attempts: 2 } })).toThrow(/no option "retry"/u);
  expect(() => tool(undefined as never)).toThrow(/tool needs a configuration/u);
});

test('A6 a node or a graph that acts on the world asks as a function does, however deep in it the act is', async () => {
  const acts: string[] = [];
  const post = functionNode(() => void acts.push('post'), { effectClass: 'external' });
  const inner = new AgentGraph({}, { id: 'inner' }).addNode('post', post).addEdge(START, 'post').addEdge('post', END);
  const outer = new AgentGraph({}, { id: 'outer' })
    .addNode('child', subgraphNode(inner.toGraph()))
    .addEdge(START, 'child')
    .addEdge('child', END);
  const looks = functionNode(() => void acts.push('look'), { effectClass: 'read' });
  const parts = { description: 'Does.', input: { type: 'object' } };
  for (const [node, isAsked] of [
    [post, true],
    [outer.toGraph(), true],
    [looks, false],
  ] as const) {
    acts.length = 0;
    const script: Script = [{ calls: [{ tool: 'act', input: {} }] }, 'Done.'];
    const { bench, graph } = agentKit(script, { tools: { act: tool({ ...parts, node }) } });
    const result = await runToRest(bench.engine, graph, {}, 'r');
    expect([result.waits.map(({ prompt }) => prompt?.split('\n')[0]), acts.length]).toEqual(
      isAsked ? [['May the agent call act?'], 0] : [[], 1],
    );
    const allowed = agentKit(script, { tools: { act: tool({ ...parts, node }) }, allow: ['act'] });
    expect((await runToRest(allowed.bench.engine, allowed.graph, {}, 'r')).status).toBe('completed');
  }
});

describe('A6 a tool that acts on the world', () => {
  const sent: unknown[] = [];
  const mail = tool({
    description: 'Sends a mail.',
    input: z.object({ to: z.string() }),
    run: (args) => {
      sent.push(args);
      return 'sent';
    },
  });
  const script: Script = [{ calls: [{ tool: 'mail', input: { to: 'ann' } }] }, 'Done.'];

  test.each([
    ['approve', [{ to: 'ann' }], 'sent'],
    [{ decision: 'edit', args: { to: 'bob' } }, [{ to: 'bob' }], 'sent'],
    ['refuse', [], 'a person refused this call of mail'],
    [{ decision: 'refuse', reason: 'not today' }, [], 'a person refused this call of mail: not today'],
  ])('A6 asks first; answered %j it is sent to %j', async (answer, expected, output) => {
    sent.length = 0;
    const { bench, models, graph } = agentKit(script, { tools: { mail } });
    const paused = await runToRest(bench.engine, graph, {}, 'r');
    expect([paused.waits.map(({ prompt }) => prompt), sent]).toEqual([
      ['May the agent call mail?\n{\n  "to": "ann"\n}'],
      [],
    ]);
    const engine = afterCrash(bench);
    await engine.answer('r', paused.waits[0]?.waitId ?? '', answer);
    expect((await resumeToRest(engine, 'r', graph)).state.outputs).toEqual({ a: 'Done.' });
    expect(sent).toEqual(expected);
    expect(models.requests).toHaveLength(2);
    expect(models.requests[1]?.messages.at(-1)?.content).toMatchObject([{ output }]);
  });

  test('A6 is called at once where the agent may', async () => {
    sent.length = 0;
    const { bench, graph } = agentKit(script, { tools: { mail }, allow: ['mail'] });
    expect((await runToRest(bench.engine, graph)).status).toBe('completed');
    expect(sent).toEqual([{ to: 'ann' }]);
  });
});

test('A7 an answer that does not fit the schema is asked for again twice, then the agent fails with it', async () => {
  const output = z.object({ age: z.number() });
  const good = agentKit(['old', '{"age":"x"}', '```json\n{"age":7}\n```'], { output });
  expect((await runToRest(good.bench.engine, good.graph)).state.outputs).toEqual({ a: { age: 7 } });
  expect(good.models.requests[1]?.messages.at(-1)?.content).toMatch(/^The answer does not fit: it is no JSON/u);
  const bad = agentKit(['a', 'b', 'c', '{"age":7}'], { output });
  const failed = await runToRest(bad.bench.engine, bad.graph);
  expect([failed.status, bad.models.requests.length]).toEqual(['failed', 3]);
  expect(failed.error?.cause).toMatchObject({ code: 'OUTPUT_INVALID', data: { text: 'c' } });
});

test.each(['save', 'retire'] as const)(
  'A4 a composed tool may not %s: the calls are those of the whole agent',
  async (call) => {
    const forgets = tool({
      description: 'Forgets.',
      input: { type: 'object' },
      composed: true,
      run: (_, ctx) => ctx[call]('all'),
    });
    const { bench, graph } = agentKit([{ calls: [{ tool: 'forgets' }] }, 'Done.'], { tools: { forgets } });
    const failed = await runToRest(bench.engine, graph);
    expect([failed.status, failed.error?.cause]).toMatchObject([
      'failed',
      { code: 'NODE_CALL_REFUSED', data: { call } },
    ]);
  },
);

test('A4 another agent is a tool: its run is a child run, and its answer the result', async () => {
  const helper = agent({ model: 'small', instructions: 'You add.', tools: { add } });
  const { bench, models, graph } = agentKit(
    ({ model }, index) =>
      model === 'small'
        ? index === 1
          ? { calls: [{ tool: 'add', input: { a: 1, b: 1 } }] }
          : 'Two.'
        : index === 0
          ? { calls: [{ tool: 'helper', input: { prompt: 'What is 1 + 1?' } }] }
          : 'It is two.',
    { tools: { helper } },
  );
  expect((await runToRest(bench.engine, graph)).state.outputs).toEqual({ a: 'It is two.' });
  expect(models.requests.map(({ model, messages }) => [model, messages.length])).toEqual([
    ['m', 1],
    ['small', 2],
    ['small', 4],
    ['m', 3],
  ]);
});

test('A3 a prompt that changed under a paused agent that refuses changes is told before anything is paid; a fork makes the call anew', async () => {
  const ask = tool({
    description: 'Asks.',
    input: { type: 'object' },
    composed: true,
    run: (_, ctx) => ctx.ask({ prompt: 'Which?' }),
  });
  const script: Script = (_, index) => (index % 2 === 0 ? { calls: [{ tool: 'ask' }] } : 'Done.');
  const { bench, models, graph } = agentKit(script, { tools: { ask } });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  const other = agentKit(script, { tools: { ask }, prompt: 'Go on.', onChange: 'refuse' }).graph;
  const changed = await resumeToRest(afterCrash(bench), 'r', other).catch((error: unknown) => error);
  expect(changed).toMatchObject({ error: { cause: { code: 'AGENT_DIVERGED' } } });
  expect(models.requests).toHaveLength(1);
  const engine = afterCrash(bench);
  const { runId } = await engine.fork({ runId: 'r', seq: paused.seq });
  const forked = await resumeToRest(engine, runId, other);
  expect([forked.status, models.requests.length]).toEqual(['completed', 2]);
  expect(models.requests[1]?.messages).toEqual([{ role: 'user', content: 'Go on.' }]);
});

test('A7 the type of an answer follows from its schema', () => {
  const text: NodeDraft<never, string> = agent({ model: 'm' });
  const value: NodeDraft<never, { age: number }> = agent({ model: 'm', output: z.object({ age: z.number() }) });
  // @ts-expect-error an answer with a schema is no text
  const wrong: NodeDraft<never, string> = agent({ model: 'm', output: z.object({ age: z.number() }) });
  expect([text.type, value.type, wrong.type]).toEqual(['agent', 'agent', 'agent']);
});

test('A5 a failure that the model was told of stays what it was when the node is tried again', async () => {
  let calls = 0;
  const flaky = tool({
    description: 'Fails once.',
    input: { type: 'object' },
    effect: 'read',
    run: () => {
      if ((calls += 1) === 1) throw new Error('no room');
      return 'fine';
    },
  });
  const down = new NodeFailure('down', { code: 'MODEL_REFUSED', applied: 'no' });
  const script: Script = (_, index) =>
    index < 2 ? { calls: [{ tool: 'flaky', input: { index } }] } : index === 2 ? down : 'Done.';
  const { bench, models, graph } = agentKit(script, { tools: { flaky } });
  expect((await runToRest(bench.engine, graph, {}, 'r')).status).toBe('failed');
  const done = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([done.state.outputs, models.requests.length, calls]).toEqual([{ a: 'Done.' }, 4, 2]);
  expect(models.requests[3]?.messages).toEqual(models.requests[2]?.messages);
});

test('A12 a tool that yields gives its last value, and tells the others as they come', async () => {
  const counts = tool({
    description: 'Counts.',
    input: { type: 'object' },
    effect: 'read',
    run: async function* () {
      await Promise.resolve();
      yield 1;
      yield 2;
      yield 3;
    },
  });
  const { bench, models, graph } = agentKit([{ calls: [{ tool: 'counts' }] }, 'Done.'], { tools: { counts } });
  const told: unknown[] = [];
  const handle = await bench.engine.start(graph, {}, {});
  for await (const event of handle.events({ live: true }))
    if ('detail' in event) told.push((event.detail as { readonly value?: unknown } | undefined)?.value);
  expect((await handle.result()).status).toBe('completed');
  expect(models.requests[1]?.messages.at(-1)?.content).toMatchObject([{ output: 3 }]);
  expect(told.filter((value) => value !== undefined)).toEqual([1, 2]);
});

test('A2 the model may be a value of the state, so a fork sets another one, and what the first one answered stays with the original', async () => {
  const models = createScriptedModels(({ model }) => `I am ${model}.`);
  const modelOf = ({ state }: { readonly state: StateView }): string =>
    (state.input as { readonly model: string }).model;
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('a', agent({ model: modelOf, prompt: 'Who are you?' }))
    .addNode('b', llmNode({ model: modelOf, prompt: 'And you?' }))
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .addEdge('b', END)
    .compile({ models });
  const first = await graph.invoke({ model: 'small' }, { runId: 'r' });
  expect(first.state.outputs).toEqual({ a: 'I am small.', b: 'I am small.' });
  const handle = await graph.fork('r@0', { set: { 'input.model': 'large' } });
  const { state } = await graph.resume(handle.runId);
  expect(state.outputs).toEqual({ a: 'I am large.', b: 'I am large.' });
  expect(models.requests.map(({ model }) => model)).toEqual(['small', 'small', 'large', 'large']);
  const none = await graph.invoke({ model: '' }, { runId: 'none' });
  expect(none.error?.message).toContain('agent: model gave no name of a model, or several');
});
