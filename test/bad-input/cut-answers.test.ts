/** Answers of models that are cut off at the limit of their tokens, and answers with calls without number: nothing of them is taken in silence. */
import { generateText, isStepCount, streamText, tool as sdkTool } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agent } from '../../src/agents/agent.ts';
import { llmNode, gmiNode } from '../../src/agents/answers/llm-node.ts';
import { judgeNode } from '../../src/agents/answers/judge-node.ts';
import { createMode, modeNames } from '../../src/agents/modes/modes.ts';
import type { ModeName } from '../../src/agents/modes/text-modes.ts';
import { answerCallsMax, readTurn } from '../../src/agents/modes/read-turn.ts';
import { tool } from '../../src/agents/tools/tool-box.ts';
import { readAgentState } from '../../src/agents/view/agent-state.ts';
import { durable } from '../../src/ai-sdk/index.ts';
import type { ModelResponse } from '../../src/graph/contracts/model-messages.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import type { NodeDraft } from '../../src/graph/node-draft.ts';
import { createScriptedModels, type Script, type ScriptedAnswer } from '../../src/models/scripted.ts';
import { agentKit } from '../agents/agent-kit.ts';
import { sayAnswer, sayCalls } from '../agents/say.ts';
import { scriptedSdkModel } from '../agents/scripted-sdk-model.ts';
import { digraph, runDot } from '../dot-kit.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';

const input = { type: 'object', properties: { n: { type: 'number' } } };
const cut = (answer: string | Exclude<ScriptedAnswer, string | Error>): ScriptedAnswer => ({
  ...(typeof answer === 'string' ? { text: answer } : answer),
  finishReason: 'length',
});
/** How an answer with these calls looks when its end is missing. */
function cutCalls(mode: ModeName, calls: Parameters<typeof sayCalls>[2]): ScriptedAnswer {
  const said = sayCalls(mode, 'turn', calls);
  if (typeof said !== 'string') return cut(said);
  const end = {
    native: said.length,
    json: said.lastIndexOf('}]'),
    xml: said.lastIndexOf('}'),
    react: said.indexOf('}\nObservation'),
  };
  // The end of the arguments, and all that comes after.
  return cut(mode === 'json' ? said.slice(0, said.lastIndexOf('}],')) : said.slice(0, end[mode]));
}

describe.each(modeNames)('A7 in mode %s', (mode) => {
  test('A7 an answer that was cut off is asked for again, whole, and told as such; a third one fails the node with its text', async () => {
    const half = sayAnswer(mode, 'Do not pay').replace(/"?\}?$/u, '');
    const mended = agentKit([cut(half), sayAnswer(mode, 'Do not pay twice.')], { mode });
    const handle = await mended.bench.engine.start(mended.graph, {}, { runId: 'r' });
    const events: string[] = [];
    for await (const { type } of handle.events()) events.push(type);
    const done = await handle.result();
    expect(done.state.outputs).toEqual({ a: 'Do not pay twice.' });
    expect(mended.models.requests[1]?.messages.at(-1)).toEqual({
      role: 'user',
      content:
        'Your answer was cut off at the limit of its length and is not taken.\nAnswer again, whole, in fewer words.',
    });
    const seen = await readAgentState(mended.bench.engine.history, 'r', 'a');
    expect(seen?.intermediateSteps.map(({ isCutOff }) => isCutOff)).toEqual([true, undefined]);
    expect(seen?.messages.slice(0, 4)).toEqual(
      [...(mended.models.requests[1]?.messages ?? []), expect.anything()].slice(0, 4),
    );

    const lost = agentKit(() => cut(half), { mode });
    const failed = await runToRest(lost.bench.engine, lost.graph, {}, 'r');
    expect([failed.error?.cause, lost.models.requests.length]).toMatchObject([
      {
        code: 'MODEL_OUTPUT_TRUNCATED',
        message: expect.stringContaining('the answer of m was cut off'),
        data: { text: half },
      },
      3,
    ]);
    // Those answers were bought and are on record.
    const again = await resumeToRest(afterCrash(lost.bench), 'r', lost.graph);
    expect([again.error?.cause, lost.models.requests.length]).toMatchObject([{ code: 'MODEL_OUTPUT_TRUNCATED' }, 3]);
  });

  test('A5 of an answer that was cut off the last call is never made, also when its arguments look whole; those before it are, once', async () => {
    const made: unknown[] = [];
    const put = tool({ description: 'Puts.', input, approval: 'never', run: (args) => made.push(args) });
    const ask = tool({ description: 'Asks.', input, composed: true, run: (_, ctx) => ctx.ask({ prompt: 'Which?' }) });
    const answers: readonly ScriptedAnswer[] = [
      cutCalls(mode, [
        { tool: 'put', input: { n: 1 } },
        { tool: 'put', input: { n: 2 } },
      ]),
      cut(sayCalls(mode, 'again', [{ tool: 'put', input: {} }])),
      sayCalls(mode, 'ask', [{ tool: 'ask', input: {} }]),
      sayAnswer(mode, 'Done.'),
    ];
    const script: Script = ({ messages }) =>
      answers[messages.filter(({ role }) => role === 'assistant').length] as ScriptedAnswer;
    const { bench, models, graph } = agentKit(script, { mode, tools: { put, ask } });
    const paused = await runToRest(bench.engine, graph, {}, 'r');
    // The JSON of an answer in mode `json` is one object, so nothing of it can be read.
    expect(made).toEqual(mode === 'json' ? [] : [{ n: 1 }]);
    const told = JSON.stringify(models.requests.slice(1).map(({ messages }) => messages.at(-1)));
    expect(told).toContain(mode === 'json' ? 'is not taken' : 'these arguments may not be whole');
    const engine = afterCrash(bench);
    engine.know(graph);
    await engine.answer('r', paused.waits[0]?.waitId ?? '', 'This.');
    const done = await resumeToRest(engine, 'r', graph);
    expect([done.error, done.state.outputs, models.requests.length]).toEqual([undefined, { a: 'Done.' }, 4]);
    expect(made).toHaveLength(mode === 'json' ? 0 : 1);
  });

  test(`A5 of an answer with more than ${answerCallsMax} calls none is made: the model is told, and lost when it goes on`, async () => {
    let looks = 0;
    const look = tool({ description: 'Looks.', input, effect: 'read', run: () => (looks += 1) });
    const many = (count: number): ScriptedAnswer =>
      sayCalls(
        mode,
        'many',
        Array.from({ length: count }, (_, n) => ({ tool: 'look', input: { n } })),
      );
    const told = `Your answer cannot be used: it makes ${answerCallsMax + 1} calls, and ${answerCallsMax} at most are made of one answer.\nMake fewer at a time; none of these was made.`;
    const mended = agentKit([many(answerCallsMax + 1), many(answerCallsMax), sayAnswer(mode, 'Done.')], {
      mode,
      tools: { look },
    });
    expect((await runToRest(mended.bench.engine, mended.graph, {}, 'r')).state.outputs).toEqual({ a: 'Done.' });
    expect(looks).toBe(answerCallsMax);
    const second = mended.models.requests[1]?.messages ?? [];
    expect(second.at(-1)).toEqual({ role: 'user', content: told });
    expect(JSON.stringify(second.at(-2))).not.toContain('"tool-call"');
    const seen = await readAgentState(mended.bench.engine.history, 'r', 'a');
    expect(seen?.messages.slice(0, second.length)).toEqual(second);

    const lost = agentKit(() => many(10_000), { mode, tools: { look } });
    const failed = await runToRest(lost.bench.engine, lost.graph);
    expect([failed.error?.cause, lost.models.requests.length, looks]).toMatchObject([
      { code: 'AGENT_LOST' },
      9,
      answerCallsMax,
    ]);
  });
});

test('A2 A7 an answer that an older version took as it came is read so again, as what came of it is on record', () => {
  const mode = createMode('native', { tools: [], answer: undefined });
  const answer = (content: ModelResponse['content']): ModelResponse => ({
    content,
    finishReason: 'length',
    model: 'm',
    usage: { inputTokens: 1, outputTokens: 1 },
  });
  const call = { type: 'tool-call', id: '1', tool: 'look', input: {} } as const;
  const [text, calls, many] = [
    [{ type: 'text', text: 'Half' } as const],
    [call],
    Array.from({ length: 200 }, () => call),
  ];
  expect(readTurn(mode, answer(text), 1, { text: 'The answer does not fit: no' })).toMatchObject({
    last: { text: 'Half' },
  });
  expect(readTurn(mode, answer(calls), 1, { results: [{ call: '1', from: 'tool look x' }] }).calls).toEqual([call]);
  expect(readTurn(mode, answer(many), 1, { results: [] }).calls).toHaveLength(200);
  // Without such a record, nothing of them is taken.
  expect(readTurn(mode, answer(text), 1)).toMatchObject({ isCut: true });
  expect(readTurn(mode, answer(calls), 1).calls).toMatchObject([{ fault: expect.stringContaining('cut off') }]);
  expect(readTurn(mode, answer(many), 1).calls).toEqual([]);
});

const score = z.object({ score: z.number() });
const oneAnswer: readonly (readonly [string, NodeDraft, string])[] = [
  ['llmNode, of a text', llmNode({ model: 'm', prompt: '?' }), 'Do not pay'],
  ['llmNode, of what fits by chance', llmNode({ model: 'm', prompt: '?', output: z.number() }), '12'],
  ['judgeNode', judgeNode({ model: 'm', prompt: '?', rubric: 'Be fair.', schema: score }), '{"score": 1}'],
  ['gmiNode', gmiNode({ model: 'm', instructions: 'Go.', executionMode: 'single_turn' } as never), 'Do not pay'],
];
test.each(oneAnswer)('A20 A21 A26 %s takes no answer that was cut off', async (_, draft, half) => {
  const models = createScriptedModels(() => cut(half));
  const graph = graphOf('g', [{ id: 'a', ...draft }], edges('> a', 'a >'));
  const failed = await runToRest(createBench({ models }).engine, graph, 'Judge.');
  expect([failed.error?.cause, models.requests.length]).toMatchObject([
    { code: 'MODEL_OUTPUT_TRUNCATED', data: { text: half } },
    3,
  ]);
});

test('A11 L12 DOT29 a summary that was cut off stands in its place, and says where it ends', async () => {
  const script: Script = ({ model, messages }, index) => {
    if (model === 'small') return cut('It looked at');
    return index < 3 ? { calls: [{ tool: 'look', input: { n: index } }] } : `${messages.length}`;
  };
  const look = tool({ description: 'Looks.', input, effect: 'read', run: () => 1 });
  const history = { messagesMax: 5, summary: { model: 'small', messagesKept: 2 } };
  const { bench, models, graph } = agentKit(script, { tools: { look }, history });
  expect((await runToRest(bench.engine, graph)).status).toBe('completed');
  expect(JSON.stringify(models.requests.at(-1)?.messages)).toContain('It looked at\\n[the summary was cut off here]');

  const stages = createScriptedModels(({ model }) => (model === 'small' ? cut('They did') : 'done'));
  const text = digraph(
    'start -> a -> b -> exit\na [prompt=one]\nb [prompt=two, fidelity="summary:low"]',
    'graph [summary_model=small]',
  );
  expect((await runDot(text, { asksModels: true, engine: { models: stages } })).result.status).toBe('completed');
  expect(JSON.stringify(stages.requests.at(-1)?.messages)).toContain('They did\\n[the summary was cut off here]');
});

test('DOT6 a stage whose answer was cut off has failed, with the reason, since its report is missing', async () => {
  const models = createScriptedModels(() => cut('All is well so far'));
  const text = digraph(
    'start -> a\na -> exit [condition="outcome=success"]\na -> b [condition="outcome=fail"]\nb -> exit\na [prompt=one]\nb [shape=parallelogram, tool_command="echo b"]',
  );
  const { history, result } = await runDot(text, { asksModels: true, engine: { models } });
  expect([result.status, history]).toEqual(['completed', ['start', 'a: fail', 'b']]);
  expect(JSON.stringify(result.state)).toContain('the answer of default was cut off at the limit of its tokens');
});

test.each(['generateText', 'streamText'])(
  'U6.1 the SDK runs no tool for an answer that was cut off, and says so: %s',
  async (how) => {
    const made: unknown[] = [];
    const inputSchema = z.object({ n: z.number().optional() });
    const model = scriptedSdkModel([{ calls: [['put', {}]], isCut: true }, 'Done.']);
    const run = async (ctx: NodeContext): Promise<unknown> => {
      const d = durable(ctx, { name: 'support' });
      const tools = d.tools({ put: sdkTool({ inputSchema, execute: (args) => made.push(args) }) });
      const call = { model: d.model(model), tools, prompt: 'Go.', stopWhen: isStepCount(5), ...d.settings };
      return how === 'streamText' ? streamText(call).finishReason : (await generateText(call)).finishReason;
    };
    const graph = graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));
    expect((await runToRest(createBench().engine, graph)).state.outputs).toEqual({ a: 'length' });
    expect([made, model.requests.length]).toEqual([[], 1]);
  },
);

test('A14 DOT6 an answer that the filter stopped in the middle is refused, and a fallback is asked', async () => {
  const stopped = { text: 'Pay it', finishReason: 'content-filter' } as const;
  const models = createScriptedModels(({ model }) => (model === 'other' ? 'Whole.' : stopped));
  const graphWith = (model: string[]) =>
    graphOf('g', [{ id: 'a', ...agent({ model, prompt: '?' }) }], edges('> a', 'a >'));
  const { engine } = createBench({ models });
  expect((await runToRest(engine, graphWith(['m', 'other']))).state.outputs).toEqual({ a: 'Whole.' });
  expect((await runToRest(engine, graphWith(['m']))).error?.cause).toMatchObject({
    code: 'MODEL_REFUSED',
    data: { text: 'Pay it' },
  });
  const stage = await runDot(digraph('start -> a -> exit\na [prompt=one]'), { asksModels: true, engine: { models } });
  expect(stage.result.error).toMatchObject({ message: expect.stringContaining('kept its answer back') });
});

test('L12 an answer that ended in an error of the provider’s is none: it is asked for again, and then the node fails by name', async () => {
  const half: ScriptedAnswer = { text: 'Pay it', finishReason: 'error' };
  const graph = graphOf('g', [{ id: 'a', ...agent({ model: 'm', prompt: '?' }) }], edges('> a', 'a >'));
  const mended = createScriptedModels([half, 'Pay it not.']);
  expect((await runToRest(createBench({ models: mended }).engine, graph)).state.outputs).toEqual({ a: 'Pay it not.' });
  const broken = createScriptedModels(() => half);
  const failed = await runToRest(createBench({ models: broken }).engine, graph);
  expect([failed.error?.cause, broken.requests.length]).toMatchObject([
    { code: 'MODEL_UNAVAILABLE', data: { text: 'Pay it' } },
    3,
  ]);
});
