/** Budgets: what does not begin when they are spent, the one question about it, and what its answers do. */
import { expect, test } from 'vitest';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
  rowOf,
  type Bench,
} from '../../../test/engine-kit.ts';
import type { ConditionScope, Graph, GraphPolicies, NodeDefinition } from '../../graph/graph.ts';
import type { NodeContext, StepOptions } from '../../graph/contracts/node-contract.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import type { RunResult } from '../api.ts';

const single = (
  run: (ctx: NodeContext) => unknown,
  policies: Partial<GraphPolicies> = {},
  more: Partial<NodeDefinition> = {},
): Graph => graphOf('g', [node('a', 'read', run, more)], edges('> a', 'a >'), { policies });

/** Steps one after the other that cost so much each, and what they did. */
const paying =
  (done: string[], count: number, usd: number, options: StepOptions = {}) =>
  async (ctx: NodeContext): Promise<void> => {
    for (let index = 1; index <= count; index += 1)
      await ctx.step(`s${index}`, options, (step) => {
        done.push(`s${index}`);
        step.spend({ usd });
      });
  };

async function answerAll(bench: Bench, { runId, waits }: RunResult, value: unknown): Promise<void> {
  for (const { waitId } of waits) await bench.engine.answer(runId, waitId, value);
}

test('Q4 the step that would begin when the budget is spent asks, and the run pauses; so much more, and it goes on', async () => {
  const bench = createBench();
  const done: string[] = [];
  const graph = single(paying(done, 5, 1), { budget: { usd: 2 } });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect([paused.status, paused.spent, done]).toEqual(['paused', { usd: 2 }, ['s1', 's2']]);
  expect(paused.waits).toMatchObject([
    {
      kind: 'question',
      node: ['a'],
      name: 'budget',
      budget: { of: [], unit: 'usd', limit: 2, spent: 2 },
      metadata: { unit: 'usd', spent: 2, budget: 2, next: 'a/s3' },
    },
  ]);
  expect(paused.waits[0]?.prompt).toContain(
    'The run has spent 2 of its budget of 2 usd; next is a/s3. How many usd more?',
  );
  const waitId = paused.waits[0]?.waitId ?? '';
  for (const wrong of [0, -1, 'yes', true, { usd: 1 }])
    await expect(bench.engine.answer('r', waitId, wrong)).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  await bench.engine.answer('r', waitId, 2);
  const again = await resumeToRest(afterCrash(bench), 'r', graph);
  // Raised once: the next question is of its own, and what is recorded never meets it.
  expect([again.status, again.spent, done]).toEqual(['paused', { usd: 4 }, ['s1', 's2', 's3', 's4']]);
  expect(again.waits).toMatchObject([{ budget: { limit: 4, spent: 4 } }]);
  expect(again.waits[0]?.waitId).not.toBe(waitId);
  await answerAll(bench, again, 1);
  const last = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([last.status, last.spent, last.waits, done.length]).toEqual(['completed', { usd: 5 }, [], 5]);
});

test('Q4 a bound is reserved before a step begins, so the budget is never passed', async () => {
  const bench = createBench();
  const done: string[] = [];
  const graph = single(paying(done, 3, 3, { atMost: { usd: 4 } }), { budget: { usd: 8 } });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  // 3 + 3 + 4 would pass 8, though no more than 6 is spent.
  expect([paused.status, paused.spent, done]).toEqual(['paused', { usd: 6 }, ['s1', 's2']]);
  expect(paused.waits[0]?.prompt).toContain('next is a/s3, which spends up to 4');
  // Not enough for the bound: it asks again.
  await answerAll(bench, paused, 1);
  const again = await resumeToRest(bench.engine, 'r', graph);
  expect([again.status, again.waits[0]?.budget?.limit]).toEqual(['paused', 9]);
  await answerAll(bench, again, 1);
  expect((await resumeToRest(bench.engine, 'r', graph)).status).toBe('completed');
});

test('Q4 what is reserved by others is waited for, not asked about, while it may still be left', async () => {
  let atWork = 0;
  let most = 0;
  const graph = single(
    (ctx) =>
      Promise.all(
        [1, 2, 3, 4].map((index) =>
          ctx.step(`s${index}`, { atMost: { usd: 4 } }, async (step) => {
            most = Math.max(most, (atWork += 1));
            await new Promise<void>((resolve) => setImmediate(resolve));
            atWork -= 1;
            step.spend({ usd: 1 });
          }),
        ),
      ).then(() => 'all'),
    { budget: { usd: 9 } },
  );
  const bench = createBench({ findGraph: () => graph });
  const { status, spent } = await runToRest(bench.engine, graph, {}, 'r');
  expect([status, spent, most]).toEqual(['completed', { usd: 4 }, 2]);
  expect((await changesOf(bench.engine, 'r')).join(' + ')).not.toContain('wait');
});

test('Q5 steps and nodes that meet a budget side by side open one question, and one answer lets them all go on', async () => {
  const bench = createBench();
  const done: string[] = [];
  const buy = (id: string): NodeDefinition => node(id, 'external', (ctx) => (done.push(id), ctx.spend({ usd: 1 })));
  const graph = graphOf(
    'g',
    [
      node('first', 'pure', (ctx) => ctx.spend({ usd: 1 })),
      node('steps', 'read', (ctx) =>
        Promise.all([1, 2, 3].map((index) => ctx.step(`s${index}`, {}, () => void done.push(`s${index}`)))).then(
          () => 1,
        ),
      ),
      buy('b'),
      buy('c'),
    ],
    edges('> first', 'first > steps', 'first > b', 'first > c', 'steps >', 'b >', 'c >'),
    { policies: { budget: { usd: 1 } } },
  );
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect([paused.status, paused.waits.length, done]).toEqual(['paused', 1, []]);
  await answerAll(bench, paused, 10);
  const last = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([last.status, last.spent, done.toSorted()]).toEqual(['completed', { usd: 3 }, ['b', 'c', 's1', 's2', 's3']]);
});

test('Q5 an answer that comes while the run is at work is taken at once', async () => {
  const bench = createBench();
  const done: string[] = [];
  const asked = Promise.withResolvers<string>();
  const answered = Promise.withResolvers<void>();
  const graph = graphOf(
    'g',
    [node('a', 'read', paying(done, 3, 1)), node('long', 'read', () => answered.promise)],
    edges('> a', '> long', 'a >', 'long >'),
    { policies: { budget: { usd: 2 } } },
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  void (async () => {
    for await (const event of handle.events())
      if (event.type === 'waiting') asked.resolve((event.detail as { waitId: string }).waitId);
      else if (event.type === 'checkpoint' && event.change.some(({ step }) => step === 's3')) answered.resolve();
  })();
  await bench.engine.answer('r', await asked.promise, 5);
  const { status, spent } = await handle.result();
  expect([status, spent]).toEqual(['completed', { usd: 3 }]);
});

test.each(['stop', 'fail'])(
  'Q5 %s fails the run with BUDGET_EXCEEDED, and a resume with more goes on',
  async (answer) => {
    const bench = createBench();
    const done: string[] = [];
    const graph = single(paying(done, 4, 1), { budget: { usd: 2 } });
    await answerAll(bench, await runToRest(bench.engine, graph, {}, 'r'), answer);
    const failed = await resumeToRest(afterCrash(bench), 'r', graph);
    expect([failed.status, failed.error?.code, failed.waits, done]).toEqual([
      'failed',
      'BUDGET_EXCEEDED',
      [],
      ['s1', 's2'],
    ]);
    expect(failed.error?.message).toContain('the run has spent 2 of its budget of 2 usd');
    // Without more it is asked about anew.
    const asked = await resumeToRest(bench.engine, 'r', graph);
    expect([asked.status, asked.waits.length]).toEqual(['paused', 1]);
    const handle = await bench.engine.resume('r', { graph, budget: { usd: 9 } });
    const last = await handle.result();
    expect([last.status, last.spent, last.waits, done.length]).toEqual(['completed', { usd: 4 }, [], 4]);
  },
);

test('Q5 fail lets the function go on without what it could not pay, and stop does not', async () => {
  const careful = async (ctx: NodeContext): Promise<string> => {
    await ctx.step('a', {}, (step) => step.spend({ usd: 1 }));
    return ctx.step('b', {}, () => 'bought').catch((error: { code: string }) => error.code);
  };
  for (const [answer, status, output] of [
    ['fail', 'completed', 'BUDGET_EXCEEDED'],
    ['stop', 'failed', undefined],
  ] as const) {
    const bench = createBench();
    const graph = single(careful, { budget: { usd: 1 } });
    await answerAll(bench, await runToRest(bench.engine, graph, {}, 'r'), answer);
    const last = await resumeToRest(bench.engine, 'r', graph);
    expect([last.status, last.state.outputs['a']]).toEqual([status, output]);
  }
});

test.each([
  ['a node', (ctx: NodeContext) => ctx.spend({ usd: 1 }), 'b did not begin'],
  [
    'a step',
    (ctx: NodeContext) => ctx.step('x', { retry: { attempts: 5 } }, (step) => step.spend({ usd: 1 })),
    'b did not begin',
  ],
])(
  'Q4 under the policy fail %s that meets the budget fails at once, and is not tried again',
  async (_, run, message) => {
    const bench = createBench();
    const retry = { attempts: 5, delayMs: 60_000_000 };
    const graph = graphOf(
      'g',
      [node('a', 'read', run, { retry }), node('b', 'read', run, { retry })],
      edges('> a', 'a > b', 'b >'),
      {
        policies: { budget: { usd: 1 }, onBudget: 'fail' },
      },
    );
    const { status, error, waits } = await runToRest(bench.engine, graph, {}, 'r');
    expect([status, error?.code, waits]).toEqual(['failed', 'BUDGET_EXCEEDED', []]);
    expect(error?.message).toContain(message);
    expect(error?.hint).toContain('--budget usd=N');
  },
);

test('Q4 a step that fails because of a budget is named with its budget, and is made when there is more', async () => {
  const done: string[] = [];
  const retry = { attempts: 3, delayMs: 10 };
  const graph = single(paying(done, 2, 1, { effect: 'external' }), { budget: { usd: 1 }, onBudget: 'fail' }, { retry });
  const bench = createBench({ findGraph: () => graph });
  const { error } = await runToRest(bench.engine, graph, {}, 'r');
  expect((await changesOf(bench.engine, 'r')).join(' + ')).not.toContain('retry');
  expect(error?.message).toBe('the run has spent 1 of its budget of 1 usd: a/s2 did not begin');
  const last = await (await bench.engine.resume('r', { graph, budget: { usd: 2 } })).result();
  // It certainly had no effect: nobody is asked whether it happened.
  expect([last.status, done]).toEqual(['completed', ['s1', 's2']]);
});

test('Q4 a budget of a node is for each of its visits, and is asked about by name', async () => {
  const bench = createBench();
  const done: string[] = [];
  const graph = graphOf(
    'g',
    [
      node('a', 'read', paying(done, 3, 1), { budget: { usd: 2 } }),
      node('b', 'external', (ctx) => (done.push('b'), ctx.spend({ usd: 9 })), {
        budget: { usd: 5 },
        atMost: { usd: 9 },
      }),
    ],
    edges('> a', '> b', 'a >', 'b >'),
  );
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect(paused.waits.map(({ budget }) => String(budget?.of)).toSorted()).toEqual(['a', 'b']);
  expect(done).toEqual(['s1', 's2']);
  await answerAll(bench, paused, 4);
  const last = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([last.status, last.spent, done.length]).toEqual(['completed', { usd: 12 }, 4]);
});

test('Q5 C3 the answer about a budget is told of the visit that it lets begin', async () => {
  const pay = async (ctx: NodeContext): Promise<number> => {
    await ctx.step('s', {}, (step) => step.spend({ usd: 1 }));
    return ctx.visit;
  };
  const isFirst = { text: 'is the first', evaluate: ({ outcome }: ConditionScope) => outcome.output === 1 };
  const graph = graphOf(
    'g',
    [node('a', 'read', pay)],
    [...edges('> a', 'a >'), { from: 'a', to: 'a', condition: isFirst }],
    { policies: { budget: { usd: 1 } } },
  );
  const bench = createBench({ findGraph: () => graph });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  await answerAll(bench, paused, 1);
  expect((await resumeToRest(bench.engine, 'r', graph)).state.outputs['a']).toBe(2);
  const told: ChangePart[] = [];
  for await (const event of bench.engine.events('r')) if (event.type === 'checkpoint') told.push(...event.change);
  expect(told.filter(({ kind }) => kind === 'answer')).toMatchObject([{ node: ['a'], visit: 2 }]);
});

test('Q4 a child run is under its own budget and those around it', async () => {
  const bench = createBench();
  const child = graphOf(
    'child',
    [
      node('c', 'read', async (ctx) => {
        for (const name of ['x', 'y', 'z']) await ctx.step(name, {}, (step) => step.spend({ usd: 1 }));
      }),
    ],
    edges('> c', 'c >'),
    { policies: { budget: { usd: 2 } } },
  );
  const graph = single((ctx) => ctx.run(child, {}, { name: 'child' }).then(({ status }) => status), {
    budget: { usd: 3 },
  });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect(paused.waits).toMatchObject([{ node: ['a', 'child', 'c'], budget: { of: ['a', 'child'], limit: 2 } }]);
  await answerAll(bench, paused, 5);
  const last = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([last.status, last.spent, last.state.outputs['a']]).toEqual(['completed', { usd: 3 }, 'completed']);
});

test('Q4 a start gives a budget in place of the graph’s, and a budget that is none is refused', async () => {
  const bench = createBench();
  const done: string[] = [];
  const graph = single(paying(done, 3, 1), { budget: { usd: 1 } });
  const handle = await bench.engine.start(graph, {}, { runId: 'r', budget: { usd: 2 } });
  expect([(await handle.result()).spent, (await rowOf(bench, 'r')).status]).toEqual([{ usd: 2 }, 'paused']);
  const wrong = { usd: -1 };
  await expect(bench.engine.start(graph, {}, { budget: wrong })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  await expect(bench.engine.resume('r', { graph, budget: wrong })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  expect(() => single(() => 1, { budget: wrong })).toThrow(/budget: usd is -1/);
});

test('Q4 recorded steps meet no budget: a function that is repeated when it is spent finds them', async () => {
  const bench = createBench();
  const done: string[] = [];
  const graph = single(
    async (ctx) => {
      await paying(done, 2, 1)(ctx);
      await ctx.ask({ prompt: 'well?' });
      return 'end';
    },
    { budget: { usd: 2 }, onBudget: 'fail' },
  );
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  await answerAll(bench, paused, 'yes');
  const last = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([last.status, last.state.outputs['a'], done]).toEqual(['completed', 'end', ['s1', 's2']]);
});

test('Q5 a fork gives another answer to the question about a budget', async () => {
  const done: string[] = [];
  const graph = single(paying(done, 4, 1), { budget: { usd: 2 } });
  const bench = createBench({ findGraph: () => graph });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  await answerAll(bench, paused, 'stop');
  const failed = await resumeToRest(bench.engine, 'r', graph);
  expect(failed.status).toBe('failed');
  await bench.engine.fork(
    { runId: 'r', seq: failed.seq },
    { runId: 'f', answers: { [paused.waits[0]?.waitId ?? '']: 2 } },
  );
  const last = await resumeToRest(bench.engine, 'f', graph);
  expect([last.status, last.spent, done]).toEqual(['completed', { usd: 4 }, ['s1', 's2', 's3', 's4']]);
});

test('Q5 a question about a budget that nothing needs any more is closed with the run', async () => {
  const bench = createBench();
  const seen: unknown[] = [];
  const graph = graphOf(
    'g',
    [
      node('pay', 'pure', (ctx) => ctx.spend({ usd: 1 })),
      node('fast', 'read', () => new Promise((resolve) => bench.clock.setTimer(500, () => resolve('fast')))),
      node('slow', 'read', () => 'slow'),
      // It has said that it costs nothing.
      node('end', 'pure', () => 'end', { join: { first: 1, cancelRest: true }, atMost: 'nothing' }),
    ],
    edges('> pay', '> fast', 'pay > slow', 'fast > end', 'slow > end', 'end >'),
    { policies: { budget: { usd: 1 } } },
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  for await (const event of handle.events()) if (event.type === 'waiting') seen.push(event.node);
  const last = await handle.result();
  expect([last.status, last.waits, last.state.outputs['end'], seen]).toEqual(['completed', [], 'end', [['slow']]]);
  expect((await bench.store.listWaits({ tenant: 'default', limit: 10 })).rows).toEqual([]);
});

test('Q4 a resume raises the budget of a run that is at work here', async () => {
  const bench = createBench();
  const done: string[] = [];
  const raised = Promise.withResolvers<void>();
  const graph = graphOf(
    'g',
    [node('a', 'read', paying(done, 3, 1)), node('long', 'read', () => raised.promise)],
    edges('> a', '> long', 'a >', 'long >'),
    { policies: { budget: { usd: 2 } } },
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  const asked = Promise.withResolvers<void>();
  void (async () => {
    for await (const { type } of handle.events()) if (type === 'waiting') asked.resolve();
  })();
  await asked.promise;
  await bench.engine.resume('r', { graph, budget: { usd: 3 } });
  raised.resolve();
  const { status, waits } = await handle.result();
  expect([status, waits, done]).toEqual(['completed', [], ['s1', 's2', 's3']]);
});
