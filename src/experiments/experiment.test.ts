/** Experiments: what they say of arms, what they never do, and that they go on where they were killed. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AgentGraph, createMemoryStore, END, START } from '../index.ts';
import { llmNode } from '../agents/answers/llm-node.ts';
import { createScriptedModels } from '../models/scripted.ts';
import { exact, experiment, judge, tableText, type ExperimentOptions, type Scorer } from './index.ts';

/** What happened outside. */
let world: string[] = [];

/** Drafts a letter, reads the amount out of it, asks, pays. */
function desk({ prompt = 'Write a letter', fee = 0, rate = 1 } = {}) {
  return new AgentGraph({ input: z.object({ amount: z.number() }) }, { id: 'desk' })
    .addNode('draft', llmNode({ model: 'demo:letters', prompt: ({ state }) => `${prompt}: ${state.input.amount}.` }))
    .addNode('sum', ({ state }) => Number(/\d+/.exec(String(state.outputs.draft))?.[0]) + fee, { effectClass: 'pure' })
    .addNode(
      'ok',
      (ctx) => ctx.ask({ prompt: `Pay ${ctx.state.outputs.sum}?`, choices: ['yes', 'no'], name: 'finance' }),
      {
        effectClass: 'human',
      },
    )
    .addNode(
      'pay',
      (ctx) =>
        ctx.state.outputs.ok === 'yes'
          ? ctx.step('transfer', { effect: 'external', input: { sum: Number(ctx.state.outputs.sum) * rate } }, () => {
              world.push('paid');
              return 'paid';
            })
          : 'refused',
      { effectClass: 'read' },
    )
    .addEdge(START, 'draft')
    .addEdge('draft', 'sum')
    .addEdge('sum', 'ok')
    .addEdge('ok', 'pay')
    .addEdge('pay', END);
}

const models = createScriptedModels(({ messages }) => {
  const asked = JSON.stringify(messages);
  world.push('asked');
  if (asked.includes('What is judged')) return asked.includes('+') ? '0.2' : '0.9';
  const amount = Number(/(\d+)\./.exec(asked)?.[1]);
  return asked.includes('generous') && amount % 3 === 0 ? `We pay ${amount + 10}+` : `We pay ${amount}`;
});

async function recorded(count: number) {
  const app = desk().compile({ store: createMemoryStore(), models });
  for (let amount = 1; amount <= count; amount += 1) {
    const runId = `r${amount}`;
    const { waits } = await app.invoke({ amount }, { runId, meta: { labels: { tier: 'gold' } } });
    await app.answer(runId, (waits[0]?.waitId ?? '') as never, amount % 5 === 0 ? 'no' : 'yes');
    await app.resume(runId);
  }
  world = [];
  return app;
}

const of = (options: Partial<ExperimentOptions>): ExperimentOptions => ({
  name: 'test',
  dataset: { status: 'completed' },
  arms: { same: {} },
  output: (state) => state.outputs,
  ...options,
});

test('EX1 an arm asks another model at a node, and only there', async () => {
  const app = await recorded(3);
  const asked: string[] = [];
  const other = createScriptedModels(({ messages, model }) => {
    asked.push(model);
    return `We pay ${Number(/(\d+)\./.exec(JSON.stringify(messages))?.[1]) + (model === 'demo:small' ? 1 : 0)}`;
  });
  const today = desk().compile({ store: app.engine.ports.store, models: other });
  const arms = { small: { models: { draft: 'demo:small' } }, elsewhere: { models: { pay: 'demo:small' } } };
  const result = await experiment(today, of({ arms }));
  expect([result.arms['small']?.verdicts, result.arms['elsewhere']?.verdicts]).toEqual([
    { 'would ask': 3 },
    { equal: 3 },
  ]);
  // The control arm samples the baseline's own model anew.
  expect(asked.toSorted()).toEqual([...Array<string>(3).fill('demo:letters'), ...Array<string>(3).fill('demo:small')]);
  await expect(experiment(today, of({ arms: { small: {}, elsewhere: {} } }))).rejects.toMatchObject({
    code: 'RUN_EXISTS',
  });
});

test('EX1 an unchanged arm is equal on every item, and nothing is done', async () => {
  const app = await recorded(6);
  const { items, baseline, arms, otherCode } = await experiment(app, of({ dataset: { labels: { tier: 'gold' } } }));
  expect([items, baseline, arms['same']?.verdicts, otherCode]).toEqual([6, { equal: 6 }, { equal: 6 }, 0]);
  expect(world).toEqual([]);
});

test('EX1 arms say what they would have done; the counts of each are those of all items', async () => {
  const app = await recorded(5);
  const result = await experiment(
    app,
    of({
      arms: {
        fee: { graph: desk({ fee: 1 }) },
        rate: { graph: desk({ rate: 2 }) },
        no: { answers: { finance: 'no' } },
        sandboxed: { graph: desk({ rate: 2 }), standIns: { transfer: () => 'paid' } },
      },
    }),
  );
  // Another sum is another question, which nobody has answered.
  expect(result.arms['fee']?.verdicts).toEqual({ 'would ask': 5 });
  expect(result.arms['rate']?.verdicts).toEqual({ 'would act': 4, equal: 1 });
  expect(result.arms['no']?.verdicts).toEqual({ different: 4, equal: 1 });
  expect(result.arms['sandboxed']?.verdicts).toEqual({ equal: 5 });
  expect(result.rows[0]?.arms['rate']?.[0]?.because).toEqual(['would act: pay/transfer {"sum":2}']);
  expect(world).toEqual([]);
  expect(tableText(result)).toContain(
    '  rate: 1 equal, 4 would act\n    e.g. r1: would act: would act: pay/transfer {"sum":2}',
  );
});

const least: Scorer = { name: 'least', score: (_, changed) => -(changed as { readonly sum: number }).sum };

test('EX2 where models are asked, arms are compared with fresh samples of the baseline, and a worse prompt is found', async () => {
  const app = await recorded(18);
  const result = await experiment(
    app,
    of({
      arms: { generous: { graph: desk({ prompt: 'Write a generous letter' }), answers: { finance: 'no' } } },
      dataset: { status: 'completed' },
      scorers: [least],
      repeats: 2,
      output: ({ outputs }) => ({ sum: outputs['sum'] }),
    }),
  );
  const [finding] = result.arms['generous']?.findings ?? [];
  expect(result.arms['generous']?.verdicts).toEqual({ regressed: 12, equal: 24 });
  expect([finding?.conclusion, finding?.worse, finding?.better]).toEqual(['regressed', 6, 0]);
  expect(result.rows[0]?.control).toHaveLength(2);
  expect(world.filter((what) => what === 'paid')).toEqual([]);
});

test('EX2 a model rates each output once, in a call that is on record', async () => {
  const app = await recorded(6);
  const options = of({
    arms: { generous: { graph: desk({ prompt: 'Write a generous letter' }), answers: { finance: 'no' } } },
    scorers: [judge({ model: 'demo:judge', rubric: 'Is it cheap?' })],
    output: ({ outputs }) => outputs['draft'],
  });
  const result = await experiment(app, options);
  expect(result.arms['generous']?.verdicts).toEqual({ regressed: 2, equal: 4 });
  const asked = world.length;
  expect((await experiment(app, options)).arms).toEqual(result.arms);
  expect(world).toHaveLength(asked);
});

test('EX4 a second call of a name gives what was found, and one with other arms is refused', async () => {
  const app = await recorded(3);
  const first = await experiment(app, of({}));
  expect(await experiment(app, of({}))).toEqual(first);
  await expect(experiment(app, of({ arms: { same: { resample: true } } }))).rejects.toMatchObject({
    code: 'RUN_EXISTS',
  });
});

test('EX1 an arm begins just before a node, and what came before is taken as it was recorded', async () => {
  const app = await recorded(4);
  const arms = { fee: { graph: desk({ fee: 1 }) }, generous: { graph: desk({ prompt: 'Write a generous letter' }) } };
  const result = await experiment(app, of({ at: 'pay', arms }));
  expect([result.arms['fee']?.verdicts, result.arms['generous']?.verdicts]).toEqual([{ equal: 4 }, { equal: 4 }]);
  const { arms: gone } = await experiment(app, of({ name: 'gone', at: 'nowhere' }));
  expect(gone['same']?.verdicts).toEqual({ 'not run': 4 });
});

test('EX5 forks of experiments are in no list and no inbox, and the runs that they are of are kept', async () => {
  const app = await recorded(2);
  await experiment(app, of({ arms: { fee: { graph: desk({ fee: 1 }) } } }));
  const listed: string[] = [];
  for await (const { runId } of app.history.list()) listed.push(runId);
  expect(listed).toEqual(['r2', 'r1']);
  const gold: string[] = [];
  for await (const { runId } of app.history.list({ labels: { tier: 'gold' } })) gold.push(runId);
  expect(gold).toEqual(['r2', 'r1']);
  await app.history.cleanUp({ ttl_seconds: 0 });
  expect((await app.history.find('r1')).runId).toBe('r1');
  const { removed } = await app.history.remove('cairn:experiment:test', { withForks: true });
  expect(removed).toHaveLength(5);
  await app.history.remove('r1');
});

test('EX4 what the budget does not pay is not run, and counts all the same', async () => {
  const app = await recorded(6);
  const arms = { generous: { graph: desk({ prompt: 'Write a generous letter' }), answers: { finance: 'no' } } };
  const { arms: found } = await experiment(app, of({ arms, budget: { inputTokens: 1 }, concurrency: 1 }));
  expect(found['generous']?.verdicts).toEqual({ different: 1, 'not run': 5 });
});

test('EX1 what reads, draws or is not declared is named', async () => {
  const bare = (more: string) =>
    new AgentGraph({}, { id: 'bare' })
      .addNode('draw', () => `${Math.random()}${more}`)
      .addEdge(START, 'draw')
      .addEdge('draw', END);
  const app = bare('').compile({ store: createMemoryStore() });
  await app.invoke({}, { runId: 'r' });
  const refused = await experiment(app, of({ name: 'refused' }));
  expect(refused.rows[0]?.baseline).toMatchObject({ verdict: 'would act' });
  const run = await experiment(app, of({ name: 'run', undeclared: 'run' }));
  expect([run.baseline, run.arms['same']?.verdicts]).toEqual([{ 'not reproduced': 1 }, { 'not reproduced': 1 }]);
  const because = [expect.stringMatching(/^draw was "0\.\d+", and is "0\.\d+"$/u)];
  expect([run.rows[0]?.baseline, run.rows[0]?.arms['same']?.[0]]).toMatchObject([{ because }, { because }]);
});

test('EX1 what could not find anything is refused before it runs, and frees the name', async () => {
  const app = await recorded(3);
  const refusalOf = async (options: Parameters<typeof of>[0]): Promise<unknown> =>
    experiment(app, of(options)).catch((error: unknown) => `${String(error)} ${(error as { hint?: string }).hint}`);
  expect(await refusalOf({ dataset: { labels: { tier: 'nobody' } } })).toMatch(
    /dataset: it has no item: no recorded run fits it/u,
  );
  expect(await refusalOf({ arms: { no: { answers: { finanec: 'no' } } } })).toMatch(
    /arms\.no\.answers: none of the runs was asked finanec; they were asked finance.* Did you mean finance\?/u,
  );
  // A changed graph may ask what nobody was asked before.
  const arms = { other: { graph: desk({ fee: 1 }), answers: { boss: 'no' } } };
  expect((await experiment(app, of({ arms }))).items).toBe(3);
  expect(await refusalOf({ arms: { no: { answers: { finance: 'no' } } } })).toMatch(
    /was begun with other items, arms, scorers or code.* cairn experiment rm /u,
  );
});

test('EX6 a part that neither output has is no reason to call them equal', async () => {
  const app = await recorded(3);
  const arms = { no: { answers: { finance: 'no' } } };
  const { arms: found } = await experiment(app, of({ arms, scorers: [exact('smu')] }));
  expect(found['no']?.verdicts).toEqual({ different: 3 });
});

test('EX1 a pair that differs says where first, and nothing of values under names of secrets', async () => {
  const teller = (greeting: string, password: string) =>
    new AgentGraph({}, { id: 'teller' })
      .addNode('tell', () => ({ password, list: [1, { said: greeting }] }), { effectClass: 'pure' })
      .addEdge(START, 'tell')
      .addEdge('tell', END);
  const app = teller('Hi', 'one').compile({ store: createMemoryStore() });
  await app.invoke({}, { runId: 'r' });
  const arms = { kind: { graph: teller('Dear', 'one') }, secret: { graph: teller('Hi', 'two') } };
  const { rows } = await experiment(app, { name: 'why', dataset: { runs: ['r'] }, arms });
  expect(rows[0]?.arms['kind']?.[0]?.because).toEqual(['tell.list.1.said was "Hi", and is "Dear"']);
  expect(rows[0]?.arms['secret']?.[0]).toMatchObject({
    verdict: 'different',
    because: ['values differ that are not shown'],
  });
});

test('EX1 an arm is compared with the original by the part that a scorer names', async () => {
  const app = await recorded(3);
  const arms = { no: { answers: { finance: 'no' } } };
  const { arms: found } = await experiment(app, of({ arms, scorers: [exact('sum')] }));
  expect(found['no']?.verdicts).toEqual({ equal: 3 });
});
