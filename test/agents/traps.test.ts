/**
 * Traps in which systems that run agents are caught, each shown not to be here; then agents that are interrupted in the middle of their
 * work. Traps of the AI SDK's own loops: src/ai-sdk/traps.test.ts.
 */
import { describe, expect, test } from 'vitest';
import { agent, type AgentConfig } from '../../src/agents/agent.ts';
import { askPerson } from '../../src/agents/people/ask-person.ts';
import { tool, type FunctionTool } from '../../src/agents/tools/tool-box.ts';
import { textOf, type ModelMessage } from '../../src/graph/contracts/model-messages.ts';
import { NodeFailure } from '../../src/graph/contracts/node-contract.ts';
import type { Engine } from '../../src/engine/api.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createScriptedModels, type Script } from '../../src/models/scripted.ts';
import { mapNode } from '../../src/nodes/map-node.ts';
import { agentKit, type AgentKit } from './agent-kit.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest, type Bench } from '../engine-kit.ts';

const input = { type: 'object' };
/** Answers by how far the conversation is, so that a repeated call gets an equal answer. */
const byTurn =
  (...turns: readonly Exclude<Script, (...args: never) => unknown>[number][]): Script =>
  ({ messages }) =>
    turns[messages.filter(({ role }) => role === 'assistant').length] ?? new Error('the script is over');

/** Results that the first answer's calls had. */
function resultsIn(messages: readonly ModelMessage[] = []): readonly unknown[] {
  const content = messages[2]?.role === 'tool' ? messages[2].content : [];
  return content.map(({ output }) => output);
}
/** What had ended before is on its way to the store. */
const landed = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const reads = (run: FunctionTool['run'], more: Partial<FunctionTool> = {}): FunctionTool =>
  tool({ description: 'Gives.', input, effect: 'read', run, ...more } as FunctionTool);
const send = tool({ description: 'Sends.', input, run: () => 'sent' });
/** Another process, which has the code. */
function elsewhere(bench: Bench, graph: Graph): Engine {
  const engine = afterCrash(bench);
  engine.know(graph);
  return engine;
}
const approved = async ({ bench, graph }: AgentKit) => {
  const engine = elsewhere(bench, graph);
  const { waits } = await engine.inspect('r');
  await engine.answer('r', waits[0]?.waitId ?? '', 'approve');
  return resumeToRest(engine, 'r', graph);
};
/** What the model is asked last, by one run that is never interrupted and by one that waits and goes on in another process. */
async function lastRequests(script: Script, tools: AgentConfig['tools']): Promise<readonly unknown[]> {
  const through = agentKit(script, { tools: { ...tools, send }, allow: ['send'] });
  await runToRest(through.bench.engine, through.graph, {}, 'r');
  const waiting = agentKit(script, { tools: { ...tools, send } });
  await runToRest(waiting.bench.engine, waiting.graph, {}, 'r');
  expect((await approved(waiting)).status).toBe('completed');
  return [through, waiting].map(({ models }) => models.requests.at(-1)?.messages);
}

describe('traps', () => {
  test('integer keys: what is keyed by numbers is the same when it comes from the record', async () => {
    const given = { 10: 'ten', 2: { 1: [1] }, map: new Map([[10, 'ten']]) };
    const script = byTurn(
      { calls: [{ tool: 'gives', input: { 7: 'seven' } }] },
      { calls: [{ tool: 'send' }] },
      'Done.',
    );
    const [through, resumed] = await lastRequests(script, { gives: reads(() => given) });
    expect(resumed).toEqual(through);
    // A number that is a key of a map stays a number.
    expect(JSON.stringify(resumed)).toContain('{"2":{"1":[1]},"10":"ten","map":[[10,"ten"]]}');
  });

  test('millisecond ties: equal calls of one answer keep their order and their own results, whichever ends first', async () => {
    let calls = 0;
    const gives = reads(async () => {
      const nth = (calls += 1);
      for (let turns = 0; turns < 6 - 2 * nth; turns += 1) await Promise.resolve();
      return nth;
    });
    const three = ['x', 'x', 'x'].map((value) => ({ tool: 'gives', input: { value } }));
    const one = agentKit(byTurn({ calls: three }, { calls: [{ tool: 'send' }] }, 'Done.'), { tools: { gives, send } });
    await runToRest(one.bench.engine, one.graph, {}, 'r');
    await approved(one);
    const told = (at: number): unknown => resultsIn(one.models.requests[at]?.messages);
    expect([told(1), told(2), calls]).toEqual([[1, 2, 3], [1, 2, 3], 3]);
  });

  test('class instances: a tool that returns one is told so, and nothing of it is stored', async () => {
    class Ticket {
      readonly id = 7;
    }
    const one = agentKit(byTurn({ calls: [{ tool: 'gives' }] }, 'Done.'), {
      tools: { gives: reads(() => new Ticket()) },
    });
    expect((await runToRest(one.bench.engine, one.graph, {}, 'r')).status).toBe('completed');
    expect(JSON.stringify(one.models.requests[1]?.messages)).toMatch(/gives failed: .*an instance of Ticket/u);
    const { record } = await one.bench.engine.history.visit('r', 'a');
    const stored = Object.entries(record.steps ?? {}).find(([name]) => name.startsWith('tool gives'));
    expect([stored?.[1].status, stored?.[1].output]).toEqual(['failed', undefined]);
  });

  test('completed is not “has a result”: an agent that failed with results on record has not completed, and a resume goes on after them', async () => {
    let isDown = true;
    let looks = 0;
    const gives = reads(() => (looks += 1));
    const script: Script = ({ messages }) => {
      if (messages.length === 1) return { calls: [{ tool: 'gives' }] };
      return isDown ? new NodeFailure('down', { code: 'MODEL_REFUSED', applied: 'no' }) : 'Done.';
    };
    const one = agentKit(script, { tools: { gives } });
    const failed = await runToRest(one.bench.engine, one.graph, {}, 'r');
    expect([failed.status, failed.state.outputs]).toEqual(['failed', {}]);
    isDown = false;
    const done = await resumeToRest(afterCrash(one.bench), 'r', one.graph);
    expect([done.state.outputs, looks, one.models.requests.length]).toEqual([{ a: 'Done.' }, 1, 3]);
  });

  test('completed nodes are done on resume: what comes after a finished agent does not ask its model again', async () => {
    let isBroken = true;
    const models = createScriptedModels(['Hello.']);
    const bench = createBench({ models });
    const after = node('b', 'pure', () => {
      if (isBroken) throw new Error('not yet');
      return 'b';
    });
    const graph = graphOf(
      'g',
      [{ id: 'a', ...agent({ model: 'm', prompt: '?' }) }, after],
      edges('> a', 'a > b', 'b >'),
    );
    await runToRest(bench.engine, graph, {}, 'r');
    isBroken = false;
    expect((await resumeToRest(afterCrash(bench), 'r', graph)).state.outputs).toEqual({ a: 'Hello.', b: 'b' });
    expect(models.requests).toHaveLength(1);
  });

  test('a pending question is durable before it is shown: who hears of it finds it in the store', async () => {
    const one = agentKit(byTurn({ calls: [{ tool: 'send' }] }, 'Done.'), { tools: { send } });
    const handle = await one.bench.engine.start(one.graph, {}, { runId: 'r' });
    let stored: unknown;
    for await (const event of handle.events())
      if (event.type === 'waiting')
        stored = (await elsewhere(one.bench, one.graph).inspect('r')).waits.map(({ name }) => name);
    expect(stored).toEqual([expect.stringContaining('send')]);
  });

  test('a pause is not hidden by a failure beside it: the question stays open, its answer is kept, and the failure is told when it is answered', async () => {
    let isBroken = true;
    const breaks = reads(
      () => {
        if (isBroken) throw new Error('broken');
        return 'whole';
      },
      { onFailure: 'fail' },
    );
    const script = byTurn({ calls: [{ tool: 'send' }, { tool: 'breaks' }] }, 'Done.');
    const one = agentKit(script, { tools: { send, breaks } });
    const first = await runToRest(one.bench.engine, one.graph, {}, 'r');
    expect([first.status, first.waits.length]).toEqual(['paused', 1]);
    const engine = elsewhere(one.bench, one.graph);
    await engine.answer('r', first.waits[0]?.waitId ?? '', 'approve');
    const failed = await resumeToRest(engine, 'r', one.graph);
    expect(failed).toMatchObject({ status: 'failed', error: { cause: { message: 'broken' } } });
    isBroken = false;
    // The answer is kept: nobody is asked again, and the model is not.
    const done = await resumeToRest(elsewhere(one.bench, one.graph), 'r', one.graph);
    expect([done.state.outputs, one.models.requests.length]).toEqual([{ a: 'Done.' }, 2]);
  });

  test('state of a run is not on shared nodes: two runs of one graph share no cache, no counts and no conversation', async () => {
    let looks = 0;
    const gives = reads(() => (looks += 1), { cacheable: true, callsMax: 1 });
    const one = agentKit(byTurn({ calls: [{ tool: 'gives' }, { tool: 'gives' }] }, 'Done.'), { tools: { gives } });
    await Promise.all(['r', 's'].map((runId) => runToRest(one.bench.engine, one.graph, {}, runId)));
    const told = one.models.requests
      .filter(({ messages }) => messages.length > 1)
      .map(({ messages }) => resultsIn(messages));
    expect([looks, told.toSorted(([a], [b]) => Number(a) - Number(b))]).toEqual([
      2,
      [
        [1, 1],
        [2, 2],
      ],
    ]);
  });

  test('external effects are at least once: a call in flight at a crash is asked about, under the key it had, and not made again in silence', async () => {
    const keys: string[] = [];
    const hanging = Promise.withResolvers<void>();
    const pay = tool({
      description: 'Pays.',
      input,
      run: (_, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        hanging.resolve();
        return keys.length === 1 ? new Promise(() => undefined) : 'paid';
      },
    });
    const one = agentKit(byTurn({ calls: [{ tool: 'pay' }] }, 'Done.'), { tools: { pay }, allow: ['pay'] });
    await one.bench.engine.start(one.graph, {}, { runId: 'r' });
    await hanging.promise;
    await landed();
    const engine = elsewhere(one.bench, one.graph);
    const doubt = await resumeToRest(engine, 'r', one.graph);
    expect([doubt.status, doubt.waits.map(({ kind }) => kind), keys.length]).toEqual(['paused', ['doubt'], 1]);
    await engine.answer('r', doubt.waits[0]?.waitId ?? '', 'run again');
    const done = await resumeToRest(engine, 'r', one.graph);
    expect([done.state.outputs, new Set(keys).size, one.models.requests.length]).toEqual([{ a: 'Done.' }, 1, 2]);
  });

  test.each([0, '', false, null])('falsy cached results are valid hits: %j is looked up once', async (value) => {
    let looks = 0;
    const gives = reads(
      () => {
        looks += 1;
        return value;
      },
      { cacheable: true },
    );
    const call = { calls: [{ tool: 'gives' }] };
    const one = agentKit(byTurn(call, call, { calls: [{ tool: 'send' }] }, 'Done.'), { tools: { gives, send } });
    await runToRest(one.bench.engine, one.graph, {}, 'r');
    await approved(one);
    expect(looks).toBe(1);
    const told = one.models.requests
      .at(-1)
      ?.messages.filter(({ role }) => role === 'tool')
      .slice(0, 2);
    expect(told).toMatchObject([{ content: [{ output: value }] }, { content: [{ output: value }] }]);
  });

  test('redaction is of what is shown: a tool gets its arguments whole, also from the record', async () => {
    const got: unknown[] = [];
    const login = tool({ description: 'Logs in.', input, run: (args) => (got.push(args), 'in') });
    const args = { password: 'planted-password' };
    const one = agentKit(byTurn({ calls: [{ tool: 'login', input: args }] }, 'Done.'), { tools: { login } });
    await runToRest(one.bench.engine, one.graph, {}, 'r');
    await approved(one);
    expect(got).toEqual([args]);
  });

  test('tool calls are never orphaned: what is left out of a long conversation takes calls and results together', async () => {
    const script: Script = ({ messages }, index) =>
      index < 6 ? { calls: [{ tool: 'gives', id: `c${index}` }] } : `${messages.length}`;
    const one = agentKit(script, { tools: { gives: reads(() => 1) }, history: { messagesMax: 3 } });
    await runToRest(one.bench.engine, one.graph, {}, 'r');
    for (const { messages } of one.models.requests) {
      const parts = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : [...content]));
      const ids = (type: string): unknown =>
        parts.flatMap((part) => (part.type === type && 'id' in part ? [part.id] : []));
      expect(ids('tool-result')).toEqual(ids('tool-call'));
    }
    expect(one.models.requests.at(-1)?.messages.length).toBeLessThan(6);
  });

  test('resume metadata changes no keys: a resumed agent finds its cache and its calls, and asks what it would have asked', async () => {
    let looks = 0;
    const gives = reads(() => (looks += 1), { cacheable: true });
    const call = { calls: [{ tool: 'gives', input: { at: 1 } }] };
    const script = byTurn(call, { calls: [{ tool: 'send' }] }, call, 'Done.');
    const [through, resumed] = await lastRequests(script, { gives });
    expect([resumed, looks]).toEqual([JSON.parse(JSON.stringify(through).replaceAll('"output":1', '"output":2')), 2]);
  });

  test('a tool taken out or added under a paused agent that refuses changes, and another agent’s graph, are told before anything is paid', async () => {
    const script = byTurn({ calls: [{ tool: 'send' }] }, 'Done.');
    const one = agentKit(script, { tools: { send } });
    await runToRest(one.bench.engine, one.graph, {}, 'r');
    for (const tools of [{}, { send, gives: reads(() => 1) }]) {
      const other = agentKit(script, { tools, onChange: 'refuse' }).graph;
      const failed = await resumeToRest(afterCrash(one.bench), 'r', other);
      expect(failed).toMatchObject({ status: 'failed', error: { cause: { code: 'AGENT_DIVERGED' } } });
    }
    const stranger = graphOf('h', [node('b', 'pure', () => 1)], edges('> b', 'b >'));
    await expect(resumeToRest(afterCrash(one.bench), 'r', stranger)).rejects.toMatchObject({
      code: 'RUN_GRAPH_CHANGED',
    });
    expect(one.models.requests).toHaveLength(1);
    // The question is open again with the agent that asked it.
    expect((await resumeToRest(elsewhere(one.bench, one.graph), 'r', one.graph)).status).toBe('paused');
    expect((await approved(one)).state.outputs).toEqual({ a: 'Done.' });
  });
});

describe('agents in the middle of their work', () => {
  test('mid-loop: killed in loop 5 of 15, it goes on there, and asks its model 15 times in all', async () => {
    const killed = Promise.withResolvers<void>();
    let hangs = true;
    const calls: unknown[] = [];
    const gives = reads((args) => {
      calls.push(args);
      if (calls.length < 5 || !hangs) return calls.length;
      killed.resolve();
      return new Promise(() => undefined);
    });
    const turns = Array.from({ length: 14 }, (_, at) => ({ calls: [{ tool: 'gives', input: { at } }] }));
    const one = agentKit(byTurn(...turns, 'Done.'), { tools: { gives }, maxLoops: 15 });
    await one.bench.engine.start(one.graph, {}, { runId: 'r' });
    await killed.promise;
    await landed();
    hangs = false;
    const done = await resumeToRest(afterCrash(one.bench), 'r', one.graph);
    expect([done.state.outputs, one.models.requests.length]).toEqual([{ a: 'Done.' }, 15]);
    // The fifth call was in flight, and is of class read.
    expect(calls).toEqual([0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13].map((at) => ({ at })));
  });

  test('map partial: killed with 3 of 10 agents done, a resume asks the models of the other 7', async () => {
    const killed = Promise.withResolvers<void>();
    let hangs = true;
    const models = createScriptedModels(async ({ messages }) => {
      const asked = Number(messages.at(-1)?.content);
      if (asked === 3 && hangs) {
        killed.resolve();
        await new Promise(() => undefined);
      }
      return `${asked * 2}`;
    });
    const each = graphOf(
      'each',
      [{ id: 'a', ...agent({ model: 'm', prompt: ({ state }) => String(state.input) }) }],
      edges('> a', 'a >'),
    );
    const over = Array.from({ length: 10 }, (_, at) => at);
    const map = { id: 'map', ...mapNode({ over: () => over, each, concurrency: 1 }) };
    const graph = graphOf('g', [map], edges('> map', 'map >'));
    const bench = createBench({ models });
    await bench.engine.start(graph, {}, { runId: 'r' });
    await killed.promise;
    await landed();
    hangs = false;
    const done = await resumeToRest(afterCrash(bench), 'r', graph);
    expect(done.status).toBe('completed');
    // The fourth was in flight: it is the only one that may be paid twice.
    expect(models.requests.map(({ messages }) => Number(messages.at(-1)?.content))).toEqual([
      0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9,
    ]);
  });

  test('pending approval, nested: agents of a map ask their person side by side, the process is gone, and each goes on with its own answer', async () => {
    const models = createScriptedModels(({ messages }) => {
      if (messages.length > 1) return JSON.stringify(messages.at(-1)?.content);
      const prompt = `Which colour for ${textOf(messages[0]?.content as string)}?`;
      return { calls: [{ tool: 'ask', input: { message: prompt } }] };
    });
    const each = graphOf(
      'each',
      [{ id: 'a', ...agent({ model: 'm', prompt: ({ state }) => String(state.input), tools: { ask: askPerson() } }) }],
      edges('> a', 'a >'),
    );
    const map = { id: 'map', ...mapNode({ over: () => ['door', 'wall'], each }) };
    const graph = graphOf('g', [map], edges('> map', 'map >'));
    const bench = createBench({ models });
    const paused = await runToRest(bench.engine, graph, {}, 'r');
    expect(paused.waits.map(({ prompt }) => prompt)).toEqual(['Which colour for door?', 'Which colour for wall?']);
    const engine = elsewhere(bench, graph);
    for (const [index, { waitId }] of paused.waits.entries()) await engine.answer('r', waitId, ['red', 'blue'][index]);
    const done = await resumeToRest(engine, 'r', graph);
    expect([done.status, models.requests.length]).toEqual(['completed', 4]);
    const told = models.requests.slice(2).map(({ messages }) => JSON.stringify(messages));
    expect(told.toSorted()).toEqual([expect.stringMatching(/"door".*red/u), expect.stringMatching(/"wall".*blue/u)]);
  });

  test('orchestrator mid-state: killed while an agent works within another, both go on where they were', async () => {
    const killed = Promise.withResolvers<void>();
    let hangs = true;
    const models = createScriptedModels(({ model, messages }) => {
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      if (model === 'outer') return turn === 0 ? { calls: [{ tool: 'inner', input: { prompt: 'Look.' } }] } : 'Done.';
      return turn < 3 ? { calls: [{ tool: 'gives', input: { turn } }] } : 'Seen.';
    });
    let looks = 0;
    const gives = reads((args) => {
      looks += 1;
      if (!hangs || (args as { readonly turn: number }).turn < 1) return looks;
      killed.resolve();
      return new Promise(() => undefined);
    });
    const inner = agent({ model: 'inner', tools: { gives } });
    const worker = { id: 'a', ...agent({ model: 'outer', prompt: 'Go.', tools: { inner } }) };
    const graph = graphOf('g', [worker], edges('> a', 'a >'));
    const bench = createBench({ models });
    await bench.engine.start(graph, {}, { runId: 'r' });
    await killed.promise;
    await landed();
    hangs = false;
    expect((await resumeToRest(afterCrash(bench), 'r', graph)).state.outputs).toEqual({ a: 'Done.' });
    expect(models.requests.map(({ model }) => model)).toEqual(['outer', 'inner', 'inner', 'inner', 'inner', 'outer']);
    expect(looks).toBe(4);
  });
});
