/** Whose answers a question takes, and the eyes of another person (W8). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { Acting, Engine, RunResult } from '../api.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import { humanNode } from '../../nodes/human-node.ts';
import { open } from '../../../test/support/small-graphs.ts';
import { END, START } from '../../graph/graph.ts';

const ann: Acting = { by: 'ann', roles: ['finance'] };
const bob: Acting = { by: 'bob', roles: ['audit'] };
const reserved = expect.objectContaining({ code: 'ANSWER_RESERVED' }) as unknown;

/** Two questions side by side, the second for other eyes than the first; then the payment. */
const sideBySide = (): Graph =>
  graphOf(
    'seats',
    [
      node('first', 'human', (ctx) => ctx.ask({ prompt: 'first?', for: ['role:finance', 'cleo', 'bob'] })),
      node('second', 'human', (ctx) => ctx.ask({ prompt: 'second?', fourEyes: 'first' })),
      node('pay', 'external', () => 'paid'),
    ],
    edges('> first', '> second', 'first > pay', 'second > pay', 'pay >'),
  );

const idOf = ({ waits }: RunResult, id: string): string =>
  waits.find(({ node: [asking] }) => asking === id)?.waitId ?? '';
const answer = (engine: Engine, run: RunResult, id: string, who: Acting): Promise<unknown> =>
  engine.answer(run.runId, idOf(run, id), 'yes', who);

/** The same for a question by its name, or its node wherever that is. */
const answerTo = (engine: Engine, { runId, waits }: RunResult, id: string, who: Acting): Promise<unknown> =>
  engine.answer(
    runId,
    waits.find(({ name, node: path }) => name === id || path.at(-1) === id)?.waitId ?? '',
    'yes',
    who,
  );

test('W8.1 a question for people and roles takes their answers and nobody else’s, and says whose it is', async () => {
  const graph = sideBySide();
  const { engine } = createBench({ findGraph: () => graph });
  const paused = await runToRest(engine, graph);
  expect(paused.waits[0]).toMatchObject({ for: ['role:finance', 'cleo', 'bob'] });
  for (const who of [{}, { by: 'person' }, { by: 'dan', roles: ['audit'] }, { by: 'role:finance' }, { roles: [''] }])
    await expect(answer(engine, paused, 'first', who)).rejects.toMatchObject({
      code: 'ANSWER_RESERVED',
      message: expect.stringContaining('it is for the role finance, or cleo, or bob') as unknown,
    });
  await answer(engine, paused, 'first', { by: 'dan', roles: ['finance'], door: 'http' });
  const parts = [];
  await resumeToRest(engine, paused.runId, graph);
  for await (const event of engine.events(paused.runId)) if (event.type === 'checkpoint') parts.push(...event.change);
  expect(parts.filter(({ kind }) => kind === 'answer')).toMatchObject([{ by: 'dan', door: 'http', node: ['first'] }]);
});

test.each([
  ['the first is answered first', ['first', 'second']],
  ['the second is answered first', ['second', 'first']],
])('W8.2 who answered one of two questions does not answer the other: %s', async (_, [one = '', other = '']) => {
  for (const isTaken of [false, true]) {
    const { engine } = createBench();
    const graph = sideBySide();
    const paused = await runToRest(engine, graph);
    await answer(engine, paused, one, ann);
    if (isTaken) await resumeToRest(engine, paused.runId, graph);
    await expect(answer(engine, paused, other, ann)).rejects.toEqual(reserved);
    await answer(engine, paused, other, bob);
    expect((await resumeToRest(engine, paused.runId, graph)).status).toBe('completed');
  }
});

test('W8.2 of two answers under way at once by one person, one is refused: 40 of 40', async () => {
  for (let nth = 0; nth < 40; nth += 1) {
    const bench = createBench();
    const paused = await runToRest(bench.engine, sideBySide());
    const ids = nth % 2 === 0 ? ['first', 'second'] : ['second', 'first'];
    const ends = await Promise.allSettled(ids.map((id) => answer(bench.engine, paused, id, ann)));
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  }
});

const engineAll = (engine: Engine, run: RunResult, who: Acting): Promise<unknown> =>
  engine.answerAll(run.runId, run.waits.map(({ waitId }) => [waitId, 'yes'] as const), who); // prettier-ignore

test('W8.2 one call for both is refused as a whole', async () => {
  const { engine, store } = createBench();
  const paused = await runToRest(engine, sideBySide());
  await expect(engineAll(engine, paused, ann)).rejects.toEqual(reserved);
  expect(await store.readMessages({ tenant: 'default', runId: paused.runId })).toEqual([]);
});

test('W8.2 four eyes are those of people by name: nobody, a program and who started the run have none', async () => {
  const { engine } = createBench();
  const paused = await (await engine.start(sideBySide(), {}, { by: 'ann' })).result();
  for (const who of [{}, { by: 'person' }, { by: 'policy' }, { by: 'bot', as: 'program' as const }, ann])
    await expect(answer(engine, paused, 'second', who)).rejects.toEqual(reserved);
  // Who is no person by name takes the seat of the first question too.
  await answer(engine, paused, 'first', { as: 'owner' });
  await expect(answer(engine, paused, 'second', bob)).rejects.toEqual(reserved);
});

test('W8.2 an answer of nobody by name does not come after one that counts on other eyes', async () => {
  const { engine } = createBench();
  const graph = sideBySide();
  const paused = await runToRest(engine, graph);
  await answer(engine, paused, 'second', bob);
  await expect(answer(engine, paused, 'first', { as: 'owner' })).rejects.toEqual(reserved);
  await expect(answer(engine, paused, 'first', bob)).rejects.toEqual(reserved);
  await answer(engine, paused, 'first', { by: 'cleo' });
  expect((await resumeToRest(engine, paused.runId, graph)).status).toBe('completed');
});

test('W8.2 no default stands for the eyes of a person: neither of the question, nor of the one it counts on', async () => {
  const { engine, clock } = createBench();
  const withDefault = graphOf(
    'with-default',
    [node('a', 'human', (ctx) => ctx.ask({ prompt: 'a?', fourEyes: 'b', defaultAnswer: 'no', timeoutMs: 5 }))],
    edges('> a', 'a >'),
  );
  expect((await runToRest(engine, withDefault)).failures?.[0]?.message).toContain(
    'would stand for the eyes of a person',
  );
  const late = graphOf(
    'late',
    [
      node('first', 'human', (ctx) => ctx.ask({ prompt: 'first?', timeoutMs: 86_400_000, defaultAnswer: 'no' })),
      node('second', 'human', (ctx) => ctx.ask({ prompt: 'second?', fourEyes: 'first' })),
    ],
    edges('> first', '> second', 'first >', 'second >'),
  );
  const paused = await runToRest(engine, late);
  await answer(engine, paused, 'second', bob);
  await resumeToRest(engine, paused.runId, late);
  await clock.advance(86_400_001);
  const over = await resumeToRest(engine, paused.runId, late);
  expect([over.status, over.failures?.[0]?.code]).toEqual(['failed', 'NODE_TIMED_OUT']);
});

test('W8.3 in a loop the newest answer that led here counts', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'loop',
    [
      node('first', 'human', (ctx) => ctx.ask({ prompt: 'first?' }), { maxVisits: 5 }),
      node('second', 'human', (ctx) => ctx.ask({ prompt: 'second?', fourEyes: 'first' }), { maxVisits: 5 }),
    ],
    [
      ...edges('> first', 'first > second'),
      {
        from: 'second',
        to: 'first',
        condition: { text: 'no', evaluate: ({ outcome: { output } }) => output === 'no' },
      },
      {
        from: 'second',
        to: '__end__',
        condition: { text: 'yes', evaluate: ({ outcome: { output } }) => output === 'yes' },
      },
    ],
  );
  let rested = await runToRest(engine, graph);
  const say = async (id: string, value: string, who: Acting): Promise<void> => {
    await engine.answer(rested.runId, idOf(rested, id), value, who);
    rested = await resumeToRest(engine, rested.runId, graph);
  };
  await say('first', 'yes', ann);
  await say('second', 'no', bob);
  await say('first', 'yes', bob);
  await expect(say('second', 'yes', bob)).rejects.toEqual(reserved);
  await say('second', 'yes', ann);
  expect(rested.status).toBe('completed');
});

test('W8.3 a question that names one which nobody was asked takes no answer, and says so', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'odd',
    [node('a', 'human', (ctx) => ctx.ask({ prompt: 'a?', fourEyes: 'fist' }))],
    edges('> a', 'a >'),
  );
  const paused = await runToRest(engine, graph);
  await expect(answer(engine, paused, 'a', ann)).rejects.toMatchObject({
    message: expect.stringContaining('which nobody was asked on the way here') as unknown,
  });
});

test('W8.4 a fork answers only what its maker could, and counts as started by who made it', async () => {
  const graph = sideBySide();
  const { engine } = createBench({ findGraph: () => graph });
  const paused = await runToRest(engine, graph);
  await answer(engine, paused, 'first', ann);
  await answer(engine, paused, 'second', bob);
  const done = await resumeToRest(engine, paused.runId, graph);
  expect(done.status).toBe('completed');
  const from = { runId: done.runId, seq: done.seq };
  await expect(engine.fork(from, { graph, answers: { first: 'no' }, by: 'dan' })).rejects.toEqual(reserved);
  await expect(engine.fork(from, { graph, answers: { second: 'no' }, ...ann })).rejects.toEqual(reserved);
  for (const path of [
    ['outputs', 'first'],
    ['outputs', 'second'],
  ])
    await expect(engine.fork(from, { graph, set: [{ path, value: 'no' }], by: 'dan' })).rejects.toEqual(reserved);

  // What four eyes decided in the original is decided anew.
  const { runId } = await engine.fork(from, { graph, answers: { first: 'no' }, ...ann, door: 'http' });
  const rested = await resumeToRest(engine, runId, graph);
  expect(rested.waits.map(({ node: [id] }) => id)).toEqual(['second']);
  await expect(answer(engine, rested, 'second', ann)).rejects.toEqual(reserved);
  await answer(engine, rested, 'second', bob);
  expect((await resumeToRest(engine, runId, graph)).status).toBe('completed');
  const parts = [];
  for await (const event of engine.events(runId)) if (event.type === 'checkpoint') parts.push(...event.change);
  expect(parts.find(({ kind }) => kind === 'fork')).toMatchObject({ by: 'ann', door: 'http' });
  expect(parts.findLast(({ kind, node: [id] = [] }) => kind === 'answer' && id === 'first')).toMatchObject({
    by: 'ann',
  });
});

test('W8.4 the outcome of a node that has not asked yet is not set either, where its definition says whose answers it takes', async () => {
  const graph = open()
    .addNode('before', () => 1)
    .addNode('sign', humanNode({ prompt: 'Sign?', for: ['ann'] }))
    .addEdge(START, 'before')
    .addEdge('before', 'sign')
    .addEdge('sign', END)
    .compile({ engine: createBench().engine });
  const done = await graph.invoke({});
  const set = { 'outputs.sign': 'signed' };
  await expect(graph.fork(`${done.runId}@0`, { set, by: 'bob' })).rejects.toEqual(reserved);
  await expect(graph.fork(`${done.runId}@0`, { set, by: 'ann' })).resolves.toMatchObject({});
});

test('W8.5 an answer that was not held against the rules of its question leaves it open', async () => {
  const { engine, store } = createBench();
  const graph = sideBySide();
  const paused = await runToRest(engine, graph);
  const name = idOf(paused, 'first');
  const body = new TextEncoder().encode(JSON.stringify({ value: 'yes', by: 'mallory' }));
  await store.postMessage({ tenant: 'default', runId: paused.runId, kind: 'answer', name, body, at: 1 });
  const rested = await resumeToRest(engine, paused.runId, graph);
  expect(idOf(rested, 'first')).toBe(name);
  await answer(engine, rested, 'first', ann);
  expect(idOf(await resumeToRest(engine, paused.runId, graph), 'first')).toBe('');
});

test.each([
  [{ for: [] }, 'for is no list'],
  [{ for: ['role:'] }, 'names nobody'],
  [{ for: ['ann'], fourEyes: 'x', policy: () => 'yes' }, 'policy would stand'],
  [{ fourEyes: 'x', autoAccept: true }, 'autoAccept would stand'],
  [{ fourEyes: 'x', timeoutMs: 5, onTimeout: 'accept' as const }, 'onTimeout would stand'],
])('W8.1 a node that asks refuses %j', (config, fault) => {
  expect(() => humanNode({ prompt: 'ok?', ...config })).toThrow(fault);
});

test('W8.4 a fork asks again what four eyes decided behind it', async () => {
  const graph = graphOf(
    'in-turn',
    [
      node('first', 'human', (ctx) => ctx.ask({ prompt: 'first?' })),
      node('second', 'human', (ctx) => ctx.ask({ prompt: 'second?', fourEyes: 'first' }), { reads: [] }),
    ],
    edges('> first', 'first > second', 'second >'),
  );
  const { engine } = createBench({ findGraph: () => graph });
  const asked = await runToRest(engine, graph);
  await answer(engine, asked, 'first', ann);
  const next = await resumeToRest(engine, asked.runId, graph);
  await answer(engine, next, 'second', bob);
  const done = await resumeToRest(engine, asked.runId, graph);
  const { runId } = await engine.fork({ runId: done.runId, seq: done.seq }, { answers: { first: 'no' }, by: 'cleo' });
  const { status, waits } = await resumeToRest(engine, runId, graph);
  expect([status, waits.map(({ node: [asking] }) => asking)]).toEqual(['paused', ['second']]);
});

test('W8.4 of questions that one function asks one after another, a fork asks again what four eyes decided', async () => {
  const graph = graphOf(
    'in-one',
    [
      node('talk', 'human', async (ctx) => {
        const said = [
          await ctx.ask({ name: 'a', prompt: 'a?' }),
          await ctx.ask({ name: 'b', prompt: 'b?', fourEyes: 'a' }),
        ];
        return [...said, await ctx.ask({ name: 'c', prompt: 'c?' })];
      }),
    ],
    edges('> talk', 'talk >'),
  );
  const { engine } = createBench({ findGraph: () => graph });
  let rest = await runToRest(engine, graph);
  for (const [name, who] of [
    ['a', ann],
    ['b', bob],
    ['c', ann],
  ] as const) {
    await answerTo(engine, rest, name, who);
    rest = await resumeToRest(engine, rest.runId, graph);
  }
  expect(rest.state.outputs['talk']).toEqual(['yes', 'yes', 'yes']);
  const { runId } = await engine.fork({ runId: rest.runId, seq: rest.seq }, { answers: { a: 'no' }, by: 'cleo' });
  let forked = await resumeToRest(engine, runId, graph);
  expect([forked.status, forked.waits.map(({ name }) => name)]).toEqual(['paused', ['b']]);
  await expect(answerTo(engine, forked, 'b', { by: 'cleo' })).rejects.toEqual(reserved);
  await answerTo(engine, forked, 'b', bob);
  forked = await resumeToRest(engine, runId, graph);
  expect(forked.state.outputs['talk']).toEqual(['no', 'yes', 'yes']);
});

test.each(['read', 'pure'] as const)(
  'W8.4 a fork asks again what four eyes decided in a graph inside a node that is %s, and takes over neither that node nor its run',
  async (effect) => {
    const inner = graphOf(
      'inner',
      [
        node('first', 'human', (ctx) => ctx.ask({ prompt: 'first?' })),
        node('second', 'human', (ctx) => ctx.ask({ prompt: 'second?', fourEyes: 'first' }), { reads: [] }),
      ],
      edges('> first', 'first > second', 'second >'),
    );
    const outer = graphOf(
      'outer',
      [node('before', 'pure', () => 'x'), node('in', effect, (ctx) => ctx.run(inner, {}), { reads: [] })],
      edges('> before', 'before > in', 'in >'),
    );
    const { engine } = createBench({ findGraph: () => outer });
    const paused = await runToRest(engine, outer);
    await answerTo(engine, paused, 'first', ann);
    const next = await resumeToRest(engine, paused.runId, outer);
    await answerTo(engine, next, 'second', bob);
    const done = await resumeToRest(engine, paused.runId, outer);
    expect(done.status).toBe('completed');
    const { runId } = await engine.fork({ runId: done.runId, seq: 0 }, { by: 'cleo' });
    const { status, waits } = await resumeToRest(engine, runId, outer);
    expect([status, waits.map(({ node: path }) => path.at(-1))]).toEqual(['paused', ['second']]);
  },
);

test('W8.4 a fork takes over the visits of a node that four eyes did not decide', async () => {
  let counts = 0;
  const countOnceAllowed = (ctx: NodeContext): Promise<unknown> => {
    if (ctx.visit === 1) return ctx.ask({ prompt: 'count?', fourEyes: 'first' });
    return Promise.resolve(`count ${(counts += 1)}`);
  };
  const graph = graphOf(
    'rounds',
    [
      node('first', 'human', (ctx) => ctx.ask({ prompt: 'first?' })),
      node('count', 'pure', countOnceAllowed, { reads: [], maxVisits: 2 }),
    ],
    [
      ...edges('> first', 'first > count'),
      { from: 'count', to: 'count', condition: { text: 'again', evaluate: ({ outcome }) => outcome.output === 'yes' } },
      {
        from: 'count',
        to: '__end__',
        condition: { text: 'counted', evaluate: ({ outcome }) => outcome.output !== 'yes' },
      },
    ],
  );
  const { engine } = createBench({ findGraph: () => graph });
  let rest = await runToRest(engine, graph);
  const say = async (id: string, who: Acting): Promise<void> => {
    await answer(engine, rest, id, who);
    rest = await resumeToRest(engine, rest.runId, graph);
  };
  await say('first', ann);
  await say('count', bob);
  expect([rest.status, rest.state.outputs['count']]).toEqual(['completed', 'count 1']);
  const { runId } = await engine.fork({ runId: rest.runId, seq: 0 }, { by: 'cleo' });
  rest = await resumeToRest(engine, runId, graph);
  expect(rest.waits.map(({ prompt }) => prompt)).toEqual(['count?']);
  await say('count', bob);
  expect([rest.status, rest.state.outputs['count'], counts]).toEqual(['completed', 'count 1', 1]);
});

test('W8.2 who starts a run under a name may give the first answer and not the second: two people are enough, one is not', async () => {
  const { engine } = createBench();
  const graph = sideBySide();
  const paused = await (await engine.start(graph, {}, { by: 'ann' })).result();
  await expect(answer(engine, paused, 'second', ann)).rejects.toEqual(reserved);
  await answer(engine, paused, 'first', ann);
  await expect(answer(engine, paused, 'second', ann)).rejects.toEqual(reserved);
  await answer(engine, paused, 'second', bob);
  expect((await resumeToRest(engine, paused.runId, graph)).status).toBe('completed');
});
