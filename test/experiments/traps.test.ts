/** What experiments have been wrong about: a test for each trap that no other test of forks that cannot act goes into. */
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { agent, llmNode } from '../../src/agents/index.ts';
import { experiment, type ExperimentOptions } from '../../src/experiments/index.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { AgentGraph, createMemoryStore, END, START } from '../../src/index.ts';
import { createScriptedModels } from '../../src/models/scripted.ts';
import { createBench, edges, graphOf, node, runToRest } from '../engine-kit.ts';

// Processes of a loaded machine are slow.
vi.setConfig({ testTimeout: 600_000 });

const of = (options: Partial<ExperimentOptions>): ExperimentOptions => ({
  name: 'trap',
  dataset: { status: 'completed' },
  arms: { same: {} },
  output: ({ outputs }) => outputs,
  ...options,
});

/** Adds a fee that no source text tells of. */
const withFee = (fee: number, uses?: Readonly<Record<string, unknown>>) =>
  new AgentGraph({ input: z.object({ amount: z.number() }) }, { id: 'fee' })
    .addNode('sum', ({ state }) => state.input.amount + fee, {
      effectClass: 'pure',
      ...(uses !== undefined && { uses }),
    })
    .addEdge(START, 'sum')
    .addEdge('sum', END);

test('EX4 a changed capture that a node declares is another arm, refused under the old name; undeclared, it runs again all the same', async () => {
  const app = withFee(0).compile({ store: createMemoryStore() });
  await app.invoke({ amount: 1 }, { runId: 'r' });
  const arm = (fee: number, uses?: Readonly<Record<string, unknown>>) => ({
    arms: { fee: { graph: withFee(fee, uses) } },
  });
  const found = await experiment(app, of({ name: 'silent', ...arm(1) }));
  expect(found.arms['fee']?.verdicts).toEqual({ different: 1 });
  await experiment(app, of({ name: 'declared', ...arm(1, { fee: 1 }) }));
  const changed = experiment(app, of({ name: 'declared', ...arm(2, { fee: 2 }) }));
  await expect(changed).rejects.toMatchObject({ code: 'RUN_EXISTS' });
});

test('EX1 an arm that begins between two nodes of one commit takes the first from the record, whatever it changes of it', async () => {
  const ran: string[] = [];
  const graph = (word: string): Graph =>
    graphOf(
      'commit',
      [
        node('a', 'pure', () => ran.push('a') && `a ${word}`),
        node('b', 'external', (ctx) => ran.push('b') && `b after ${String(ctx.state.outputs['a'])}`),
      ],
      edges('> a', 'a > b', 'b >'),
    );
  const { engine } = createBench();
  await runToRest(engine, graph('old'), {}, 'r');
  const commits: string[] = [];
  for await (const { change } of engine.history.log('r'))
    commits.push(change.map(({ kind, node: path }) => `${kind} ${path?.[0] ?? ''}`).join());
  expect(commits).toContain('settle a,intent b');
  ran.splice(0);
  const arms = { other: { graph: graph('new') } };
  const middle = await experiment({ engine, graph: graph('old') }, of({ name: 'middle', at: 'b', arms }));
  expect([ran, middle.arms['other']?.verdicts]).toEqual([[], { equal: 1 }]);
  const start = await experiment({ engine, graph: graph('old') }, of({ name: 'start', arms }));
  expect([ran, start.arms['other']?.verdicts]).toEqual([['a', 'a'], { 'would act': 1 }]);
});

test('EX1 what was appended side by side is compared without its order, and a changed item is found', async () => {
  const graph = (delays: readonly number[], word = 'x'): Graph =>
    graphOf(
      'side',
      delays.map((delayMs, index) =>
        node(`n${index}`, 'pure', async () => {
          for (let turn = 0; turn < delayMs; turn += 1) await Promise.resolve();
          return `${word}${index}`;
        }),
      ),
      delays.flatMap((_, index) => edges(`> n${index}`, `n${index} >`)),
    );
  const { engine } = createBench();
  await runToRest(engine, graph([0, 40, 80]), {}, 'r');
  // The runs end in another order than they are held against.
  let turn = 0;
  const output = ({ outputs }: { readonly outputs: Readonly<Record<string, unknown>> }): unknown => {
    const values = Object.values(outputs);
    return (turn += 1) % 2 === 0 ? values.toReversed() : values;
  };
  const arms = { slow: { graph: graph([80, 40, 0]) }, word: { graph: graph([0, 40, 80], 'y') } };
  const { arms: found } = await experiment({ engine, graph: graph([0, 40, 80]) }, of({ arms, output }));
  expect([found['slow']?.verdicts, found['word']?.verdicts]).toEqual([{ equal: 1 }, { different: 1 }]);
});

test('EX1 a question about a budget is answered by nobody: the fork ends as one that would ask', async () => {
  const graph = (cost: number): Graph =>
    graphOf(
      'budget',
      [
        node('ask', 'pure', (ctx) =>
          ctx.step('model', { effect: 'external', idempotent: true, isModelCall: true, input: cost }, (step) => {
            step.spend({ usd: cost });
            return cost;
          }),
        ),
        node('after', 'pure', () => 'after'),
      ],
      edges('> ask', 'ask > after', 'after >'),
      { policies: { budget: { usd: 1 } } },
    );
  const { engine } = createBench();
  await runToRest(engine, graph(0.5), {}, 'r');
  const { arms } = await experiment({ engine, graph: graph(0.5) }, of({ arms: { dear: { graph: graph(3) } } }));
  expect(arms['dear']?.verdicts).toEqual({ 'would ask': 1 });
});

test('X7 a model that may use tools of its provider is not asked: they act where nobody sees it', async () => {
  let asked = 0;
  const models = createScriptedModels(() => {
    asked += 1;
    return 'Done.';
  });
  const desk = (instructions: string) =>
    new AgentGraph({}, { id: 'provider' })
      .addNode(
        'bot',
        agent({
          model: 'demo:bot',
          instructions,
          prompt: () => 'Go.',
          tools: { search: { providerTool: 'p.search', name: 'search' } },
        }),
      )
      .addEdge(START, 'bot')
      .addEdge('bot', END);
  const app = desk('Plain.').compile({ store: createMemoryStore(), models });
  await app.invoke({}, { runId: 'r' });
  asked = 0;
  const { arms } = await experiment(app, of({ arms: { kind: { graph: desk('Kind.') } } }));
  expect([arms['kind']?.verdicts, asked]).toEqual([{ 'would act': 1 }, 0]);
});

test('EX4 two processes share the work: each fork is made once, no model is asked twice, and both give one table', async () => {
  const store = createMemoryStore();
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const asked: string[] = [];
  const models = createScriptedModels(async ({ messages }) => {
    const text = JSON.stringify(messages);
    if (text.includes('kind')) {
      begun.resolve();
      await gate.promise;
    }
    asked.push(text.includes('kind') ? 'kind' : 'plain');
    return text;
  });
  const desk = (prompt: string) =>
    new AgentGraph({ input: z.object({ n: z.number() }) }, { id: 'shared' })
      .addNode('ask', llmNode({ model: 'demo:m', prompt: ({ state }) => `${prompt} ${state.input.n}` }))
      .addEdge(START, 'ask')
      .addEdge('ask', END);
  const app = desk('plain').compile({ store, models });
  for (let n = 0; n < 8; n += 1) await app.invoke({ n }, { runId: `r${n}` });
  const options = of({ arms: { kind: { graph: desk('kind') } }, concurrency: 2 });
  const first = experiment(app, options);
  await begun.promise;
  const other = desk('plain').compile({ store, models });
  const second = experiment(other, options);
  gate.resolve();
  const [one, two] = await Promise.all([first, second]);
  expect(one.arms).toEqual(two.arms);
  expect(one.arms['kind']?.verdicts).toEqual({ different: 8 });
  expect(asked.filter((prompt) => prompt === 'kind')).toHaveLength(8);
});

test('EX2 sampled anew, a neutral prompt differs from the record and not from the control', async () => {
  // A model that is right four times in five, whatever it is asked.
  let draw = 0;
  const models = createScriptedModels(() =>
    (draw = (draw * 1_103_515_245 + 12_345) & 0x7fffffff) % 5 === 0 ? 'wrong' : 'right',
  );
  const desk = (prompt: string) =>
    new AgentGraph({ input: z.object({ n: z.number() }) }, { id: 'sampled' })
      .addNode('ask', llmNode({ model: 'demo:m', prompt: ({ state }) => `${prompt} ${state.input.n}` }))
      .addEdge(START, 'ask')
      .addEdge('ask', END);
  const app = desk('Q').compile({ store: createMemoryStore(), models });
  for (let n = 0; n < 20; n += 1) await app.invoke({ n }, { runId: `r${n}` });
  const right = {
    name: 'right',
    score: (_: unknown, changed: unknown) => ((changed as { ask: string }).ask === 'right' ? 1 : 0),
  };
  const { arms, rows } = await experiment(
    app,
    of({ arms: { neutral: { graph: desk('Q:') } }, scorers: [right], repeats: 2 }),
  );
  expect(arms['neutral']?.verdicts['equal']).toBeLessThan(40);
  expect(rows.every(({ control }) => control?.length === 2)).toBe(true);
  expect(arms['neutral']?.findings[0]?.conclusion).toBe('too few to tell');
});

test('EX3 of ten worse prompts ten are called regressed', async () => {
  const models = createScriptedModels(({ messages }) => {
    const text = JSON.stringify(messages);
    const n = Number(/item (\d+)/.exec(text)?.[1]);
    const worse = /worse (\d+)/.exec(text)?.[1];
    return worse !== undefined && (n + Number(worse)) % 3 === 0 ? 'wrong' : 'right';
  });
  const desk = (prompt: string) =>
    new AgentGraph({ input: z.object({ n: z.number() }) }, { id: 'planted' })
      .addNode('ask', llmNode({ model: 'demo:m', prompt: ({ state }) => `${prompt} item ${state.input.n}` }))
      .addEdge(START, 'ask')
      .addEdge('ask', END);
  const app = desk('Q').compile({ store: createMemoryStore(), models });
  for (let n = 0; n < 40; n += 1) await app.invoke({ n }, { runId: `r${n}` });
  const right = {
    name: 'right',
    score: (_: unknown, changed: unknown) => ((changed as { ask: string }).ask === 'right' ? 1 : 0),
  };
  const worse = Array.from({ length: 10 }, (_, index) => [`worse${index}`, { graph: desk(`worse ${index}`) }] as const);
  const arms = { neutral: { graph: desk('Q:') }, ...Object.fromEntries(worse) };
  const found = await experiment(app, of({ arms, scorers: [right] }));
  const conclusions = Object.entries(found.arms).map(
    ([arm, { findings }]) => `${arm.replace(/\d/, '')} ${findings[0]?.conclusion}`,
  );
  expect(conclusions).toEqual(['neutral too few to tell', ...Array(10).fill('worse regressed')]);
});
