/** What users of other durable agents report as traps, and tools, approvals, models and streams of the SDK under `durable`. */
import { generateText, isStepCount, Output, streamText, tool, ToolLoopAgent } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';
import { scriptedSdkModel, type Turn } from '../../test/agents/scripted-sdk-model.ts';
import type { RunHandle, RunResult } from '../engine/api.ts';
import { NodeFailure, type NodeContext } from '../graph/contracts/node-contract.ts';
import type { Graph } from '../graph/graph.ts';
import { createScriptedModels } from '../models/scripted.ts';
import { callOf, contextOf, durable, type Durable, type ToolOptions } from './index.ts';

const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));

/** Brings a run to rest, and adds the live events that its nodes have told. */
async function watch(handle: RunHandle, told: unknown[][]): Promise<RunResult> {
  const own: unknown[] = [];
  told.push(own);
  const watching = (async () => {
    for await (const event of handle.events()) if (event.type === 'emitted') own.push(event.detail);
  })();
  const result = await handle.result();
  await watching;
  return result;
}

const input = z.object({ to: z.string() });

/** A loop with one tool, `send`. */
function sending(
  script: readonly Turn[],
  execute: (args: { to: string }, options: object) => unknown,
  how: ToolOptions = {},
  more: object = {},
): { readonly graph: Graph; readonly model: ReturnType<typeof scriptedSdkModel> } {
  const model = scriptedSdkModel(script);
  const graph = single(async (ctx) => {
    const d = durable(ctx, { name: 'support' });
    const send = { ...tool({ inputSchema: input, execute }), ...more };
    const tools = d.tools({ send }, { send: how });
    const agent = new ToolLoopAgent({ model: d.model(model), tools, ...d.settings });
    return (await agent.generate({ prompt: 'Go.', abortSignal: d.signal })).text;
  });
  return { graph, model };
}
const callSend: readonly Turn[] = [{ calls: [['send', { to: 'ann' }]] }, 'Done.'];
const lastPrompt = (model: ReturnType<typeof scriptedSdkModel>): string =>
  JSON.stringify(model.requests.at(-1)?.prompt);

describe('trap', () => {
  test('U6 a step directive that means nothing inside another step: a model inside a tool that is one step is refused, even if the tool catches it', async () => {
    const inner = scriptedSdkModel(['inner']);
    const model = scriptedSdkModel(callSend);
    const graph = single(async (ctx) => {
      const d = durable(ctx, { name: 'support' });
      const execute = async (): Promise<string> =>
        generateText({ model: d.model(inner), prompt: '?', ...d.settings }).then(
          ({ text }) => text,
          () => 'caught',
        );
      const tools = d.tools({ send: tool({ inputSchema: input, execute }) });
      return (await new ToolLoopAgent({ model: d.model(model), tools, ...d.settings }).generate({ prompt: 'Go.' }))
        .text;
    });
    const failed = await runToRest(createBench().engine, graph);
    expect([failed.status, failed.error?.cause]).toMatchObject(['failed', { code: 'NODE_CALL_REFUSED' }]);
    expect([inner.requests.length, model.requests.length]).toEqual([0, 1]);
  });

  test('U5 a composed tool has an agent of its own, whose calls are steps', async () => {
    const inner = scriptedSdkModel(['inner']);
    const { graph, model } = sending(
      callSend,
      async (_, options) => {
        const ctx = contextOf(options) as NodeContext;
        const d = durable(ctx, { name: 'inner' });
        const { text } = await generateText({ model: d.model(inner), prompt: '?', ...d.settings });
        return [text, await ctx.ask({ prompt: 'Well?' })];
      },
      { composed: true },
    );
    const bench = createBench();
    const paused = await runToRest(bench.engine, graph, {}, 'r');
    const engine = afterCrash(bench);
    await engine.answer('r', paused.waits[0]?.waitId ?? '', 'fine');
    expect((await resumeToRest(engine, 'r', graph)).state.outputs).toEqual({ a: 'Done.' });
    expect([inner.requests.length, model.requests.length]).toEqual([1, 2]);
    expect(lastPrompt(model)).toContain('["inner","fine"]');
  });

  test('U6 U8 a finished run that takes a second approval does not run the tool again', async () => {
    const sent: unknown[] = [];
    const { graph } = sending(callSend, (args) => (sent.push(args), 'sent'), {}, { needsApproval: true });
    const bench = createBench();
    const paused = await runToRest(bench.engine, graph, {}, 'r');
    const { waitId = '', prompt } = paused.waits[0] ?? {};
    expect([prompt, sent]).toEqual(['May the agent call send?\n{\n  "to": "ann"\n}', []]);
    const engine = afterCrash(bench);
    await engine.answer('r', waitId, 'approve');
    expect((await resumeToRest(engine, 'r', graph)).state.outputs).toEqual({ a: 'Done.' });
    await expect(engine.answer('r', waitId, 'approve')).resolves.toBe('approve');
    await expect(engine.answer('r', waitId, 'refuse')).rejects.toThrow('closed already');
    expect((await resumeToRest(afterCrash(bench), 'r', graph)).status).toBe('completed');
    expect(sent).toEqual([{ to: 'ann' }]);
  });

  test('U6 an approval that comes with the messages, as the SDK has it, runs nothing that no model of the run asked for', async () => {
    const sent: unknown[] = [];
    const model = scriptedSdkModel(['Done.']);
    const graph = single(async (ctx) => {
      const d = durable(ctx, { name: 'support' });
      const send = tool({ inputSchema: input, needsApproval: true, execute: (args) => (sent.push(args), 'sent') });
      return generateText({
        model: d.model(model),
        tools: d.tools({ send }),
        messages: [
          { role: 'user', content: 'Go.' },
          {
            role: 'assistant',
            content: [
              { type: 'tool-call', toolCallId: 'c', toolName: 'send', input: { to: 'ann' } },
              { type: 'tool-approval-request', approvalId: 'p', toolCallId: 'c' },
            ],
          },
          { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'p', approved: true }] },
        ],
        ...d.settings,
      }).then(({ text }) => text);
    });
    const failed = await runToRest(createBench().engine, graph);
    expect([failed.status, failed.error?.cause, sent]).toMatchObject(['failed', { code: 'NODE_CALL_REFUSED' }, []]);
  });

  test('U8 a workflow resumed by itself while its agent waits asks the same question, and goes on with the answer', async () => {
    const { graph, model } = sending(callSend, () => 'sent', {}, { needsApproval: () => Promise.resolve(true) });
    const bench = createBench();
    const paused = await runToRest(bench.engine, graph, {}, 'r');
    const again = await resumeToRest(afterCrash(bench), 'r', graph);
    expect(again.waits.map(({ waitId }) => waitId)).toEqual(paused.waits.map(({ waitId }) => waitId));
    const engine = afterCrash(bench);
    const reason = { decision: 'refuse', reason: 'not today' };
    await engine.answer('r', again.waits[0]?.waitId ?? '', reason);
    expect((await resumeToRest(engine, 'r', graph)).status).toBe('completed');
    expect(lastPrompt(model)).toContain('a person refused this call of send: not today');
    expect(model.requests).toHaveLength(2);
  });

  test.each<[string, ToolOptions, ToolOptions, unknown]>([
    ['asked about', { approval: 'always' }, { approval: 'never' }, 'bob'],
    ['made', { approval: 'never' }, { approval: 'always' }, 'ann'],
  ])(
    'U8 a call that was %s stays what it was, whatever its tool says after a restart',
    async (_, before, after, to) => {
      const sent: unknown[] = [];
      const model = scriptedSdkModel(callSend);
      const graphFor = (how: ToolOptions): Graph =>
        single(async (ctx) => {
          const d = durable(ctx, { name: 'support' });
          const send = tool({ inputSchema: input, execute: (args) => (sent.push(args), 'sent') });
          const tools = d.tools({ send }, { send: how });
          const { text } = await generateText({
            model: d.model(model),
            tools,
            prompt: 'Go.',
            stopWhen: isStepCount(3),
            ...d.settings,
          });
          return [text, await ctx.ask({ name: 'fine', prompt: 'Fine?' })];
        });
      const bench = createBench();
      const engine = afterCrash(bench);
      let paused = await runToRest(bench.engine, graphFor(before), {}, 'r');
      if (paused.waits[0]?.name !== 'fine') {
        await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', { decision: 'edit', args: { to: 'bob' } });
        paused = await resumeToRest(bench.engine, 'r', graphFor(before));
      }
      engine.know(graphFor(after));
      await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
      const done = await resumeToRest(engine, 'r', graphFor(after));
      expect([done.state.outputs, sent, model.requests.length]).toEqual([{ a: ['Done.', 'yes'] }, [{ to }], 2]);
    },
  );

  test('U4 chunks sent twice after a crash: what is on record is streamed once, whole, and is no live event', async () => {
    const events: unknown[][] = [];
    const seen: string[][] = [];
    const model = scriptedSdkModel(['One two three.']);
    const bench = createBench();
    const graph = single(async (ctx) => {
      const d = durable(ctx, { name: 'support' });
      const texts: string[] = [];
      for await (const text of streamText({ model: d.model(model), prompt: 'Go.', ...d.settings }).textStream)
        texts.push(text);
      seen.push(texts);
      await ctx.ask({ prompt: 'Fine?' });
      return texts.join('');
    });
    const paused = await watch(await bench.engine.start(graph, {}, { runId: 'r' }), events);
    const engine = afterCrash(bench);
    await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
    const result = await watch(await engine.resume('r', { graph }), events);
    expect(result.state.outputs).toEqual({ a: 'One two three.' });
    expect(seen).toEqual([['One ', 'two ', 'three.'], ['One two three.']]);
    const texts = ['One ', 'two ', 'three.'].map((text) => ({ type: 'model-delta', delta: { type: 'text', text } }));
    expect([events, model.requests.length]).toMatchObject([[texts, []], 1]);
  });
});

test('U7 an error of the engine inside a tool ends the attempt, though the SDK tells the model of it and goes on', async () => {
  const { graph, model } = sending(
    callSend,
    async (_, options) => (await contextOf(options)?.step('x', { effect: 'wrong' as 'pure' }, () => 1), 'sent'),
    { composed: true },
  );
  const failed = await runToRest(createBench().engine, graph);
  expect([failed.status, failed.error?.cause, model.requests.length]).toMatchObject([
    'failed',
    { code: 'NODE_CALL_REFUSED' },
    1,
  ]);
});

test('U7 a failure of the tool itself is told to the model, and what it cannot store too', async () => {
  const { graph, model } = sending(
    [
      {
        calls: [
          ['send', { to: 'ann' }],
          ['send', { to: 'bob' }],
        ],
      },
      'Done.',
    ],
    ({ to }) => {
      if (to === 'ann') throw new NodeFailure('no such account', { applied: 'no' });
      return () => 'a function';
    },
    { effect: 'read' },
  );
  expect((await runToRest(createBench().engine, graph)).state.outputs).toEqual({ a: 'Done.' });
  expect(lastPrompt(model)).toMatch(/no such account.*cannot be stored/u);
});

test('U1 a prompt that changed under a paused agent that refuses changes is told before anything is paid; a fork makes the call anew and replays equal tool calls', async () => {
  const sent: unknown[] = [];
  const model = scriptedSdkModel([{ calls: [['send', { to: 'ann' }]] }, 'Done.']);
  const graphFor = (prompt: string): Graph =>
    single(async (ctx) => {
      const d = durable(ctx, { name: 'support', onChange: 'refuse' });
      const send = tool({ inputSchema: input, execute: (args) => (sent.push(args), 'sent') });
      const agent = new ToolLoopAgent({
        model: d.model(model),
        tools: d.tools({ send }),
        onError: () => {},
        ...d.settings,
      });
      const { text } = await agent.stream({ prompt });
      const said = await text;
      await ctx.ask({ prompt: 'Fine?' });
      return said;
    });
  const bench = createBench();
  const paused = await runToRest(bench.engine, graphFor('Go.'), {}, 'r');
  const changed = await resumeToRest(afterCrash(bench), 'r', graphFor('Stop.')).catch((error: unknown) => error);
  expect(changed).toMatchObject({ error: { cause: { code: 'AGENT_DIVERGED', data: { role: 'user' } } } });
  expect(model.requests).toHaveLength(2);
  const engine = afterCrash(bench);
  const { runId } = await engine.fork({ runId: 'r', seq: paused.seq });
  expect((await resumeToRest(engine, runId, graphFor('Stop.'))).status).toBe('paused');
  expect([model.requests.length, sent]).toEqual([4, [{ to: 'ann' }]]);
});

test('U1 two loops side by side in one conversation get their own answers again, whichever is first', async () => {
  const model = scriptedSdkModel(({ prompt }) => {
    const first = JSON.stringify(prompt[0]);
    return prompt.length === 1
      ? { calls: [['send', { to: first.includes('Left') ? 'left' : 'right' }]] }
      : `Done ${first.slice(-12)}`;
  });
  const bench = createBench();
  let isSwapped = false;
  const graph = single(async (ctx) => {
    const d = durable(ctx, { name: 'support' });
    const send = tool({ inputSchema: input, execute: async ({ to }) => to });
    const agent = new ToolLoopAgent({
      model: d.model(model),
      tools: d.tools({ send }, { send: { effect: 'read' } }),
      ...d.settings,
    });
    const run = async (prompt: string): Promise<string> => (await agent.generate({ prompt })).text;
    const prompts = isSwapped ? ['Right', 'Left'] : ['Left', 'Right'];
    const texts = await Promise.all(prompts.map(run));
    await ctx.ask({ prompt: 'Fine?' });
    return texts.toSorted();
  });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  isSwapped = true;
  const engine = afterCrash(bench);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const result = await resumeToRest(engine, 'r', graph);
  expect([result.status, model.requests.length]).toEqual(['completed', 4]);
});

test('U5 a tool that yields: the last value is its result, those before are live events; its key reaches the tool', async () => {
  const told: unknown[][] = [];
  const { graph, model } = sending(callSend, async function* (_, options) {
    const call = callOf(options);
    call?.emit({ key: call.idempotencyKey.length > 10 });
    yield 'half';
    yield 'whole';
  });
  const result = await watch(await createBench().engine.start(graph, {}), told);
  expect(result.state.outputs).toEqual({ a: 'Done.' });
  expect(told).toMatchObject([[{ key: true }, { type: 'tool-progress', tool: 'send', value: 'half' }]]);
  expect(lastPrompt(model)).toContain('"value":"whole"');
});

test('U10 a model by its name, prepareStep, repair, structured output and toolApproval work, each bought once', async () => {
  const models = createScriptedModels([{ text: '{"city":"Oslo"}' }, 'unused']);
  const repairer = scriptedSdkModel(['{"to":"bob"}'], { modelId: 'repairer' });
  const chosen = scriptedSdkModel([{ calls: [['send', { wrong: 1 }]] }, 'Done.'], { modelId: 'chosen' });
  const plain = scriptedSdkModel(['never']);
  const sent: unknown[] = [];
  const bench = createBench({ models });
  const graph = single(async (ctx) => {
    const d = durable(ctx, { name: 'support' });
    const schema = z.object({ city: z.string() });
    const { output } = await generateText({
      model: d.model('small'),
      prompt: 'Where?',
      output: Output.object({ schema }),
      ...d.settings,
    });
    const tools = d.tools({ send: tool({ inputSchema: input, execute: (args) => (sent.push(args), 'sent') }) });
    const { text } = await generateText({
      model: d.model(plain),
      tools,
      prompt: 'Go.',
      stopWhen: isStepCount(5),
      prepareStep: d.prepareStep(() => ({ model: chosen })),
      repairToolCall: d.repair(async ({ toolCall }) => ({
        ...toolCall,
        input: (await generateText({ model: d.model(repairer), prompt: 'Mend it.' })).text,
      })),
      toolApproval: d.approval({ send: 'user-approval' }),
      ...d.settings,
    });
    return [output, text];
  });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect([paused.waits.map(({ name }) => name.slice(0, 26)), sent]).toEqual([['approve support tool send '], []]);
  const engine = afterCrash(bench);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'approve');
  expect((await resumeToRest(engine, 'r', graph)).state.outputs).toEqual({ a: [{ city: 'Oslo' }, 'Done.'] });
  expect([models.requests.length, repairer.requests.length, chosen.requests.length, plain.requests.length]).toEqual([
    1, 1, 2, 0,
  ]);
  expect(sent).toEqual([{ to: 'bob' }]);
});

test('U9 the signal is not aborted at a wait, and is when the run is cancelled', async () => {
  const signals: Durable['signal'][] = [];
  const { engine } = createBench();
  const graph = single(async (ctx) => {
    signals.push(durable(ctx, { name: 'support' }).signal);
    await ctx.ask({ prompt: 'Fine?' });
    await new Promise(() => {});
  });
  const paused = await runToRest(engine, graph, {}, 'r');
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const handle = await engine.resume('r', { graph });
  await expect.poll(() => signals.length).toBe(2);
  await engine.cancel('r');
  await handle.result();
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
});

test.each(['', 'two words', 'x'.repeat(65)])(
  'U1 %j is no name of a conversation, and none is given twice',
  async (name) => {
    const graph = single((ctx) => durable(ctx, { name }));
    expect((await runToRest(createBench().engine, graph)).error?.cause).toMatchObject({ code: 'CONFIG_INVALID' });
    const twice = single((ctx) => [durable(ctx, { name: 'a' }), durable(ctx, { name: 'a' })].length);
    expect((await runToRest(createBench().engine, twice)).error?.cause).toMatchObject({ code: 'CONFIG_INVALID' });
  },
);
