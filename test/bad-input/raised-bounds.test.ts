/** The way on from an answer that was cut off: its bound is raised, and of the conversation only the call that was cut off is made again. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentConfig } from '../../src/agents/agent.ts';
import { gmiNode, llmNode } from '../../src/agents/answers/llm-node.ts';
import { judgeNode } from '../../src/agents/answers/judge-node.ts';
import { agentBlock } from '../../src/agents/block/agent-block.ts';
import { judgeBlock } from '../../src/agents/block/judge-block.ts';
import { modeNames } from '../../src/agents/modes/modes.ts';
import type { ModeName } from '../../src/agents/modes/text-modes.ts';
import { stageAgent } from '../../src/agents/stage/stage-agent.ts';
import { tool } from '../../src/agents/tools/tool-box.ts';
import { readAgentState } from '../../src/agents/view/agent-state.ts';
import { readDot } from '../../src/dialects/dot/index.ts';
import type { RunResult } from '../../src/engine/api.ts';
import type { ModelCall } from '../../src/graph/contracts/model-messages.ts';
import type { Graph } from '../../src/graph/graph.ts';
import type { NodeDraft } from '../../src/graph/node-draft.ts';
import { createScriptedModels, type ScriptedAnswer, type ScriptedModels } from '../../src/models/scripted.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import type { Models } from '../../src/ports/model.ts';
import { agentKit } from '../agents/agent-kit.ts';
import { sayAnswer, sayCalls } from '../agents/say.ts';
import { countAskedAnew } from './asked-anew.ts';
import { digraph, dotOptions } from '../dot-kit.ts';
import { afterCrash, createBench, edges, graphOf, resumeToRest, runToRest, type Bench } from '../engine-kit.ts';
import { killableEngine } from '../dying-engine.ts';
import { read } from '../yaml-kit.ts';

const input = { type: 'object' };
const half = 'The stone';
const whole = 'The stone is old.';
const needed = 50;
const cut = (text: string): ScriptedAnswer => ({ text, finishReason: 'length' });
const answersIn = (messages: ModelCall['messages']): number =>
  messages.filter(({ role }) => role === 'assistant').length;

describe.each(modeNames)('A7 in mode %s', (mode: ModeName) => {
  let looks: number;
  const look = tool({ description: 'Looks.', input, approval: 'never', run: () => (looks += 1) });
  const ask = tool({ description: 'Asks.', input, composed: true, run: (_, ctx) => ctx.ask({ prompt: 'Which?' }) });
  /** Looks twice, and then says what needs 50 tokens; asked to, it asks a person before. */
  const kit = (
    tokensMax: number | undefined,
    { asks = false, ...more }: Partial<AgentConfig> & { asks?: boolean } = {},
  ) =>
    agentKit(
      ({ messages, tokensMax: bound = Infinity }) => {
        const turn = answersIn(messages);
        if (turn < 2) return sayCalls(mode, `turn ${turn}`, [{ tool: 'look', input: { turn } }]);
        if (JSON.stringify(messages).includes('This.')) return sayAnswer(mode, whole);
        if (bound < needed) return cut(sayAnswer(mode, half).replace(/"?\}?$/u, ''));
        return asks ? sayCalls(mode, 'turn 2', [{ tool: 'ask', input: {} }]) : sayAnswer(mode, whole);
      },
      { mode, tools: { look, ask }, ...more, ...(tokensMax !== undefined && { settings: { tokensMax } }) },
    );
  const cutOff = async (): Promise<{
    readonly bench: Bench;
    readonly models: ScriptedModels;
    readonly result: RunResult;
  }> => {
    looks = 0;
    const { bench, models, graph } = kit(10);
    return { bench, models, result: await runToRest(bench.engine, graph, {}, 'r') };
  };
  /** Another process, in which the graph has another bound. */
  const then = (bench: Bench, tokensMax: number | undefined, more: Parameters<typeof kit>[1] = {}) => {
    const { models, graph } = kit(tokensMax, more);
    const engine = afterCrash({ ...bench, options: { ...bench.options, models } });
    engine.know(graph);
    return { engine, models, graph, resume: (runId = 'r') => resumeToRest(engine, runId, graph) };
  };

  test('A7 a resume with a higher bound makes the call that was cut off again, and no other; a tool, never', async () => {
    const { bench, models, result } = await cutOff();
    expect([result.error?.cause, models.requests.length, looks]).toMatchObject([
      {
        code: 'MODEL_OUTPUT_TRUNCATED',
        message: expect.stringContaining(
          'raise settings.tokensMax (of a gmiNode maxTokens) and resume the run: only this call',
        ),
      },
      5,
      2,
    ]);
    expect(result.error?.hint).toContain('then resume the run');
    const same = then(bench, 10);
    expect([(await same.resume()).error?.cause, same.models.requests]).toMatchObject([
      { code: 'MODEL_OUTPUT_TRUNCATED' },
      [],
    ]);
    const higher = then(bench, needed);
    const done = await higher.resume();
    expect([done.error?.cause, done.state.outputs, looks]).toEqual([undefined, { a: whole }, 2]);
    // The half answers are no part of the conversation any more.
    expect(higher.models.requests.map(({ messages }) => messages)).toEqual([models.requests[2]?.messages]);
    expect(await countAskedAnew(higher.engine, 'r')).toBe(1);
    const seen = await readAgentState(higher.engine.history, 'r', 'a');
    expect(seen?.messages.slice(0, -1)).toEqual(models.requests[2]?.messages);
    expect(seen?.intermediateSteps.map(({ isCutOff = false }) => isCutOff)).toEqual([
      false,
      false,
      true,
      true,
      true,
      false,
    ]);
  });

  test('A7 X2 a fork with a higher bound, from its beginning and from the failure, takes over all but that call', async () => {
    const { bench, result } = await cutOff();
    for (const seq of [0, result.seq]) {
      const { engine, models, resume } = then(bench, needed);
      const { runId } = await engine.fork({ runId: 'r', seq });
      const done = await resume(runId);
      expect([done.state.outputs, models.requests.length, looks, await countAskedAnew(engine, runId)]).toEqual([
        { a: whole },
        1,
        2,
        1,
      ]);
    }
    const same = then(bench, 10);
    const { runId } = await same.engine.fork({ runId: 'r', seq: 0 });
    expect([(await same.resume(runId)).error?.cause, same.models.requests]).toMatchObject([
      { code: 'MODEL_OUTPUT_TRUNCATED' },
      [],
    ]);
  });

  test('A7 a bound that is raised too little, then enough, then lowered: what is on record stands', async () => {
    const { bench } = await cutOff();
    const tooLow = then(bench, 20);
    expect([(await tooLow.resume()).error?.cause, tooLow.models.requests.length]).toMatchObject([
      { code: 'MODEL_OUTPUT_TRUNCATED' },
      3,
    ]);
    const enough = then(bench, undefined, { asks: true });
    const paused = await enough.resume();
    expect([paused.waits.map(({ prompt }) => prompt), enough.models.requests.length]).toEqual([['Which?'], 1]);
    await enough.engine.answer('r', paused.waits[0]?.waitId ?? '', 'This.');
    const lowered = then(bench, 5);
    const done = await lowered.resume();
    expect([done.error?.cause, done.state.outputs, lowered.models.requests.length, looks]).toEqual([
      undefined,
      { a: whole },
      1,
      2,
    ]);
    expect(await countAskedAnew(lowered.engine, 'r')).toBe(2);
    const seen = await readAgentState(lowered.engine.history, 'r', 'a');
    expect(seen?.messages.slice(0, -1)).toEqual(lowered.models.requests[0]?.messages);
    // What had no bound may have one now, and the other way round.
    const none = then((await cutOff()).bench, undefined);
    expect([(await none.resume()).state.outputs, none.models.requests.length]).toEqual([{ a: whole }, 1]);
  });
});

/** The same text of an answer, or half of it where its bound is too low. */
const bounded =
  (text: string) =>
  ({ tokensMax = Infinity }: ModelCall): ScriptedAnswer =>
    tokensMax < needed ? cut(text.slice(0, -2)) : text;

/** Runs a graph, resumes it in another process with another one, and tells how often that one asked a model. */
async function raised(
  text: string,
  graphs: readonly [Graph, Graph],
  wrap: (models: Models, process: 0 | 1) => Models = (models) => models,
): Promise<{ readonly failed: RunResult; readonly done: RunResult; readonly calls: readonly number[] }> {
  const [before, after] = [createScriptedModels(bounded(text)), createScriptedModels(bounded(text))];
  const bench = createBench({ models: wrap(before, 0), findGraph: () => Promise.resolve(graphs[0]) });
  const failed = await runToRest(bench.engine, graphs[0], {}, 'r');
  const engine = afterCrash({ ...bench, options: { ...bench.options, models: wrap(after, 1) } });
  const done = await resumeToRest(engine, 'r', graphs[1]);
  return { failed, done, calls: [before.requests.length, after.requests.length] };
}

const settings = (tokensMax: number): { readonly settings: { readonly tokensMax: number } } => ({
  settings: { tokensMax },
});
const drafts: readonly (readonly [string, string, (tokensMax: number) => NodeDraft, unknown])[] = [
  [
    'llmNode',
    'The stone is old.',
    (bound) => llmNode({ model: 'm', prompt: '?', ...settings(bound) }),
    'The stone is old.',
  ],
  [
    'judgeNode',
    '{"score": 1}',
    (bound) =>
      judgeNode({
        model: 'm',
        prompt: '?',
        rubric: 'Fair.',
        schema: z.object({ score: z.number() }),
        ...settings(bound),
      }),
    { passed: true, score: 1, verdict: { score: 1 } },
  ],
  [
    'gmiNode',
    'Old.',
    (bound) => gmiNode({ model: 'm', prompt: '?', executionMode: 'single_turn', maxTokens: bound }),
    'Old.',
  ],
];
test.each(drafts)(
  'A7 A20 A21 A26 %s goes on with a higher bound, by what its failure says',
  async (_, text, draft, output) => {
    const graphWith = (bound: number): Graph => graphOf('g', [{ id: 'a', ...draft(bound) }], edges('> a', 'a >'));
    const { failed, done, calls } = await raised(text, [graphWith(10), graphWith(needed)]);
    expect(failed.error?.message).toContain('raise settings.tokensMax (of a gmiNode maxTokens) and resume the run');
    expect([done.error?.cause, done.state.outputs, calls]).toEqual([undefined, { a: output }, [3, 1]]);
  },
);

/** Models by name, whose bound the configuration sets. */
const profiled =
  (bounds: readonly [number, number]) =>
  (models: Models, process: 0 | 1): Models => ({
    generate: (request) => models.generate({ tokensMax: bounds[process], ...request }),
    tokensMaxOf: () => bounds[process],
  });

test('A7 L13 a bound that the configuration gives a model is raised there', async () => {
  const graph = graphOf('g', [{ id: 'a', ...llmNode({ model: 'fast', prompt: '?' }) }], edges('> a', 'a >'));
  const { done, calls } = await raised(whole, [graph, graph], profiled([10, needed]));
  expect([done.state.outputs, calls]).toEqual([{ a: whole }, [3, 1]]);
  const same = await raised(whole, [graph, graph], profiled([10, 10]));
  expect([same.done.error?.cause, same.calls]).toMatchObject([{ code: 'MODEL_OUTPUT_TRUNCATED' }, [3, 0]]);
});

const blocks = [...createNodeTypes(), judgeBlock];
const nodeTypes = [...blocks, agentBlock(blocks)];
test.each([
  ['Agent', whole, {}, [3, 1]],
  ['Judge', '{"score": 1, "reason": "so"}', { rubric: 'Fair.' }, [3, 1]],
  ['LLMCall', whole, {}, [1, 1]],
])('A7 B54 the block %s goes on with a changed file, as its failure says', async (type, text, inputs, made) => {
  const graphWith = (bound: number): Graph => {
    const given = { model: 'x:m', prompt: '?', max_tokens: bound, ...inputs };
    const block = `blocks: [{ id: a, type: ${type}, inputs: ${JSON.stringify(given)} }]`;
    return read(`name: w\ndescription: d\n${block}\n`, { nodeTypes }).graph;
  };
  const { failed, done, calls } = await raised(text, [graphWith(10), graphWith(needed)]);
  expect(failed.error?.message).toContain('raise its max_tokens and resume the run with the changed file (--file)');
  expect([done.error?.cause, done.status, calls]).toEqual([undefined, 'completed', made]);
});

test.each([
  ['', [1, 1]],
  [', tools="ask_person"', [3, 1]],
])('A7 DOT6 a stage of a pipeline goes on with a higher bound of its model: %s', async (attributes, made) => {
  const text = digraph(`start -> a -> exit\na [prompt=one${attributes}]`);
  const { graph } = readDot(text, dotOptions({ agent: stageAgent() }));
  const { failed, done, calls } = await raised(whole, [graph, graph], profiled([10, needed]));
  expect(failed.error?.message).toContain('raise tokensMax of its model in cairn.config and resume the run');
  expect([done.error?.cause, done.status, calls]).toEqual([undefined, 'completed', made]);
});

test('A7 A11 what was dropped counts as no loop, also where a function goes on behind a summary', async () => {
  const look = tool({ description: 'Looks.', input, effect: 'read', run: () => 1 });
  const ask = tool({ description: 'Asks.', input, composed: true, run: (_, ctx) => ctx.ask({ prompt: 'Which?' }) });
  let turn = 0;
  const kit = (tokensMax: number) =>
    agentKit(
      ({ model, tokensMax: bound = 0 }): ScriptedAnswer => {
        if (model === 'small') return 'It looked.';
        if (bound < needed) return cut(half);
        turn += 1;
        if (turn === 5) return whole;
        return { calls: [{ tool: turn === 4 ? 'ask' : 'look', input: { turn } }] };
      },
      {
        tools: { look, ask },
        maxLoops: 5,
        history: { messagesMax: 5, summary: { model: 'small', messagesKept: 2 } },
        settings: { tokensMax },
      },
    );
  const { bench, graph } = kit(10);
  expect((await runToRest(bench.engine, graph, {}, 'r')).error?.cause).toMatchObject({
    code: 'MODEL_OUTPUT_TRUNCATED',
  });
  const { models, graph: higher } = kit(needed);
  const engine = afterCrash({ ...bench, options: { ...bench.options, models } });
  engine.know(higher);
  const paused = await resumeToRest(engine, 'r', higher);
  expect([paused.error?.cause, models.requests.filter(({ model }) => model === 'small').length]).toEqual([
    undefined,
    1,
  ]);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'This.');
  const done = await resumeToRest(engine, 'r', higher);
  expect([done.error?.cause, done.state.outputs]).toEqual([undefined, { a: whole }]);
});

test('A7 a process that dies in the call that is made anew: the next one makes it, and none before it', async () => {
  const graphWith = (bound: number): Graph =>
    graphOf('g', [{ id: 'a', ...llmNode({ model: 'm', prompt: '?', ...settings(bound) }) }], edges('> a', 'a >'));
  const bench = createBench({ models: createScriptedModels(bounded(whole)) });
  await runToRest(bench.engine, graphWith(10), {}, 'r');
  const asked = Promise.withResolvers<void>();
  const hanging: Models = { generate: () => (asked.resolve(), new Promise(() => {})) };
  const dying = killableEngine({ ...bench, options: { ...bench.options, models: hanging } });
  await dying.engine.resume('r', { graph: graphWith(needed) });
  await asked.promise;
  dying.kill();
  const models = createScriptedModels(bounded(whole));
  const engine = afterCrash({ ...bench, options: { ...bench.options, models } });
  const done = await resumeToRest(engine, 'r', graphWith(needed));
  expect([done.error?.cause, done.state.outputs, models.requests.length]).toEqual([undefined, { a: whole }, 1]);
});
