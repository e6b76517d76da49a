/** Nodes that take one answer from a model: a text, a value, a verdict. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';
import type { NodeDraft } from '../../graph/node-draft.ts';
import type { Graph } from '../../graph/graph.ts';
import { createScriptedModels, type Script, type ScriptedModels } from '../../models/scripted.ts';
import { tool } from '../tools/tool-box.ts';
import { gmiNode, llmNode } from './llm-node.ts';
import { judgeNode, type JudgeNodeConfig } from './judge-node.ts';

interface Kit {
  readonly bench: Bench;
  readonly models: ScriptedModels;
  readonly graph: Graph;
}

/** The node `a`, and behind it `good` and `bad`. */
function kit(script: Script, draft: NodeDraft): Kit {
  const models = createScriptedModels(script);
  const nodes = [{ id: 'a', ...draft }, node('good', 'pure', () => 'good'), node('bad', 'pure', () => 'bad')];
  const graph = graphOf('g', nodes, edges('> a', 'a > good', 'a > bad', 'good >', 'bad >'));
  return { bench: createBench({ models }), models, graph };
}

const outputs = async ({ bench, graph }: Kit, input?: unknown): Promise<Readonly<Record<string, unknown>>> =>
  (await runToRest(bench.engine, graph, input)).state.outputs;

describe('A20 llmNode', () => {
  test('A20 asks once, what the state says, and gives the text', async () => {
    const draft = llmNode({
      model: 'm',
      instructions: 'Be brief.',
      prompt: ({ state }) => `Greet ${String(state.input)}.`,
      settings: { temperature: 0 },
    });
    const one = kit(['Hello.'], draft);
    expect((await outputs(one, 'Ada'))['a']).toBe('Hello.');
    expect(one.models.requests).toMatchObject([
      {
        model: 'm',
        temperature: 0,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Greet Ada.' },
        ],
      },
    ]);
  });

  test('A20 gives a value that fits, which is asked for again twice, and then fails with what came', async () => {
    const draft = llmNode({ model: 'm', prompt: '?', output: z.object({ age: z.number() }) });
    const mended = kit(['old', '{"age":7}'], draft);
    expect((await outputs(mended))['a']).toEqual({ age: 7 });
    const lost = kit(['a', 'b', 'c', '{"age":7}'], draft);
    const failed = await runToRest(lost.bench.engine, lost.graph);
    expect([failed.error?.cause, lost.models.requests.length]).toMatchObject([
      { code: 'OUTPUT_INVALID', data: { text: 'c' } },
      3,
    ]);
  });

  test('A20 a call is a step: an answer on record is not bought again, and pieces of it are live events', async () => {
    let tries = 0;
    const draft = llmNode({ model: 'm', prompt: '?' });
    const models = createScriptedModels([{ pieces: ['He', 'llo'] }]);
    const bench = createBench({ models });
    const failing = node('b', 'pure', () => {
      tries += 1;
      if (tries === 1) throw new Error('not yet');
      return 'b';
    });
    const graph = graphOf('g', [{ id: 'a', ...draft }, failing], edges('> a', 'a > b', 'b >'));
    const handle = await bench.engine.start(graph, {}, { runId: 'r' });
    const pieces: unknown[] = [];
    for await (const event of handle.events()) {
      const { detail } = event as { readonly detail?: { readonly type: string; readonly delta: { text: string } } };
      if (detail?.type === 'model-delta') pieces.push(detail.delta.text);
    }
    expect([(await handle.result()).status, pieces]).toEqual(['failed', ['He', 'llo']]);
    expect((await resumeToRest(afterCrash(bench), 'r', graph)).state.outputs).toEqual({ a: 'Hello', b: 'b' });
    expect(models.requests).toHaveLength(1);
  });

  test('A20 refuses what is no model and what it does not know', () => {
    expect(() => llmNode({ model: '' })).toThrow(/llmNode: model must be the name/u);
    expect(() => llmNode({ model: 'm', tools: {} } as never)).toThrow(/llmNode knows no option "tools"/u);
  });
});

describe('A26 gmiNode', () => {
  test('A26 is an agent, or with single_turn one answer, by the option names of such graphs', async () => {
    const add = tool({
      description: 'Adds.',
      input: z.object({ a: z.number() }),
      effect: 'pure',
      run: ({ a }) => a + 1,
    });
    const acting = kit(
      [{ calls: [{ tool: 'add', input: { a: 1 } }] }, 'Two.'],
      gmiNode(
        {
          instructions: 'Be brief.',
          prompt: '?',
          tools: { add },
          temperature: 0,
          maxTokens: 9,
          maxInternalIterations: 2,
        },
        { memory: { consistency: 'journaled' } },
      ),
    );
    expect((await outputs(acting))['a']).toBe('Two.');
    expect(acting.models.requests[0]).toMatchObject({ model: 'default', temperature: 0, tokensMax: 9 });
    expect(acting.graph.nodes.find(({ id }) => id === 'a')?.memoryConsistency).toBe('journaled');
    const endless = kit(
      () => ({ calls: [{ tool: 'add', input: { a: 1 } }] }),
      gmiNode({ prompt: '?', tools: { add } }),
    );
    const lost = await runToRest(endless.bench.engine, endless.graph);
    expect([lost.error?.cause, endless.models.requests.length]).toMatchObject([{ code: 'AGENT_LOOPS_EXCEEDED' }, 10]);
    const single = kit(['Hi.'], gmiNode({ model: 'm', prompt: '?', executionMode: 'single_turn' }));
    expect((await outputs(single))['a']).toBe('Hi.');
    expect(single.models.requests[0]?.tools).toBeUndefined();
  });

  test.each([
    [{ executionMode: 'planner_controlled' }, {}, /executionMode must be react_bounded or single_turn/u],
    [{ executionMode: 'single_turn', tools: {} }, {}, /a single turn calls no tools/u],
    [{ parallelTools: false }, {}, /knows no option "parallelTools"/u],
    [{}, { memory: { write: true } }, /knows no option "write"/u],
  ])('A26 %j with %j is refused, and not passed over', (config, policies, reason) => {
    expect(() => gmiNode({ prompt: '?', ...config } as never, policies as never)).toThrow(reason);
  });
});

describe('A21 judgeNode', () => {
  const judged: JudgeNodeConfig = { model: 'm', rubric: 'Is it kind?', prompt: 'You fool.', threshold: 0.7 };
  const answer = (score: number): string => JSON.stringify({ score, reason: 'so' });

  test.each([
    [0.7, true],
    [0.69, false],
  ])('A21 a score of %d held against a threshold of 0.7: passed is %s', async (score, passed) => {
    const one = kit([answer(score)], judgeNode(judged));
    expect((await outputs(one))['a']).toEqual({ passed, score, verdict: { score, reason: 'so' } });
    expect(one.models.requests[0]).toMatchObject({
      schema: { required: ['score', 'reason'] },
      messages: [{ role: 'system', content: 'Is it kind?' }, { content: 'You fool.' }],
    });
  });

  test.each([
    [0.9, { good: 'good' }],
    [0.1, { bad: 'bad' }],
  ])('A21 with routes, a score of %d goes on to %j alone', async (score, expected) => {
    const one = kit([answer(score)], judgeNode({ ...judged, routes: { pass: 'good', fail: ['bad'] } }));
    const { a: _, ...rest } = await outputs(one);
    expect(rest).toEqual(expected);
  });

  test('A21 what a verdict scores is the author’s to say, by a function of it', async () => {
    const draft = judgeNode({
      ...judged,
      schema: z.object({ faults: z.array(z.string()) }),
      score: ({ verdict }) => verdict.faults.length === 0,
    });
    expect((await outputs(kit(['{"faults":["rude"]}'], draft)))['a']).toEqual({
      passed: false,
      score: 0,
      verdict: { faults: ['rude'] },
    });
  });

  test('A21 without a verdict nothing passes: what does not fit, and a score that is none, fail the node', async () => {
    const misfit = kit(() => '{"score":7,"reason":""}', judgeNode(judged));
    const failed = await runToRest(misfit.bench.engine, misfit.graph);
    expect([failed.status, failed.error?.cause]).toMatchObject(['failed', { code: 'OUTPUT_INVALID' }]);
    const none = kit([answer(1)], judgeNode({ ...judged, score: () => Number.NaN }));
    const unscored = await runToRest(none.bench.engine, none.graph);
    expect([unscored.status, unscored.error?.cause]).toMatchObject(['failed', { code: 'NODE_OUTPUT_INVALID' }]);
  });

  test.each([
    [{ schema: { type: 'object', properties: { ok: { type: 'boolean' } } } }, /no field score/u],
    [{ threshold: Number.NaN }, /threshold must be a number/u],
    [{ rubric: '' }, /needs a rubric/u],
    [{ model: '' }, /judgeNode: model must be/u],
    [{ routs: {} }, /knows no option "routs"/u],
  ])('A21 %j is refused where it is written', (more, reason) => {
    expect(() => judgeNode({ ...judged, ...more })).toThrow(reason);
  });
});
