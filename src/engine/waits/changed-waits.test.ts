/** A recorded answer is used for the question that was asked, and for no other (W1.4). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';

/** A graph of one node that pays what it is told to pay. The text of its code is `code`. */
function pays(code: string, run: (ctx: NodeContext) => unknown): Graph {
  const ask = { ...node('pay', 'read', run), implementation: { run, codeText: code } };
  return graphOf('g', [ask], edges('> pay', 'pay >'));
}

const refund = (amount: number, more: object = {}): Graph =>
  pays(`refund ${amount}${JSON.stringify(more)}`, async (ctx) => {
    const answer = await ctx.ask({ prompt: `Refund ${amount} EUR?`, choices: ['yes', 'no'], ...more });
    return answer === 'yes' ? amount : 0;
  });

test('W1.4 an answer is not used for a question with other words: the old one is closed, and the new one asked', async () => {
  const { engine } = createBench();
  const { runId, waits } = await runToRest(engine, refund(5));
  const [old] = waits;
  await engine.answer(runId, old?.waitId ?? '', 'yes');
  const [row] = await engine.preview(await engine.locate(runId), { graph: refund(5000) });
  expect(row).toMatchObject({
    because: 'its code has changed: a question that is not the one on record is asked anew',
  });
  const changed = await resumeToRest(engine, runId, refund(5000));
  expect(changed).toMatchObject({
    status: 'paused',
    waits: [{ prompt: 'Refund 5000 EUR?', replaces: 'answered' }],
  });
  const [now] = changed.waits;
  expect(now?.waitId).not.toBe(old?.waitId);
  // A second click on the old question changes nothing.
  await engine.answer(runId, old?.waitId ?? '', 'yes');
  expect((await resumeToRest(engine, runId, refund(5000))).status).toBe('paused');
  await engine.answer(runId, now?.waitId ?? '', 'no');
  expect((await resumeToRest(engine, runId, refund(5000))).state.outputs['pay']).toBe(0);
});

test('X5 of a node whose own code is the same, a preview says that its graph has changed', async () => {
  const { engine } = createBench();
  const line = (code: string): Graph => {
    const run = async (ctx: NodeContext): Promise<unknown> => ctx.ask({ prompt: 'Pay?' });
    const ask = { ...node('pay', 'read', run), implementation: { run, codeText: 'ask' } };
    const work = (): undefined => undefined;
    const tell = { ...node('tell', 'pure', work), implementation: { run: work, codeText: code } };
    return graphOf('g', [ask, tell], edges('> pay', 'pay > tell', 'tell >'));
  };
  const { runId } = await runToRest(engine, line('told'));
  const [row] = await engine.preview(await engine.locate(runId), { graph: line('told again') });
  expect(row).toMatchObject({
    node: ['pay'],
    because: 'its graph has changed: a question that is not the one on record is asked anew',
  });
});

test('W1.4 an open question that changed is closed, and an answer to it is refused', async () => {
  const { engine } = createBench();
  const { runId, waits } = await runToRest(engine, refund(5));
  const changed = await resumeToRest(engine, runId, refund(5000));
  expect(changed.waits).toMatchObject([{ prompt: 'Refund 5000 EUR?', replaces: 'open' }]);
  await expect(engine.answer(runId, waits[0]?.waitId ?? '', 'yes')).rejects.toMatchObject({ code: 'WAIT_NOT_FOUND' });
});

test.each([
  ['choices', { choices: ['yes', 'no', 'half'] }],
  ['data', { metadata: { account: 'production' } }],
  ['schema', { schema: { type: 'string', minLength: 2 } }],
])('W1.4 the same words with other %s are another question', async (_, more) => {
  const { engine } = createBench();
  const { runId, waits } = await runToRest(engine, refund(5));
  await engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(engine, runId, refund(5, more))).status).toBe('paused');
});

test('W1.4 the same question under changed code keeps its id and its answer', async () => {
  const { engine } = createBench();
  const words = (code: string): Graph => pays(code, (ctx) => ctx.ask({ prompt: 'Refund?' }));
  const { runId, waits } = await runToRest(engine, words('one'));
  const resumed = await resumeToRest(engine, runId, words('two'));
  expect(resumed.waits.map(({ waitId }) => waitId)).toEqual(waits.map(({ waitId }) => waitId));
  await engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(engine, runId, words('three'))).state.outputs['pay']).toBe('yes');
});

test('W1.4 a question that differs at each repetition fails with both texts, and a resume asks anew', async () => {
  const { engine } = createBench();
  let count = 0;
  const graph = pays('clock', (ctx) => ctx.ask({ prompt: `Refund? It is ${(count += 1)}.` }));
  let standing = await runToRest(engine, graph);
  const { runId } = standing;
  const clickThrough = async (): Promise<void> => {
    for (let clicks = 0; clicks < 2; clicks += 1) {
      expect(standing.status).toBe('paused');
      await engine.answer(runId, standing.waits[0]?.waitId ?? '', 'yes');
      standing = await resumeToRest(engine, runId, graph);
    }
  };
  await clickThrough();
  expect(standing.status).toBe('failed');
  expect(standing.error?.cause).toMatchObject({
    code: 'QUESTION_CHANGED',
    data: { before: 'Refund? It is 2.', now: 'Refund? It is 3.' },
  });
  standing = await resumeToRest(engine, runId, graph);
  expect(standing.status).toBe('paused');
});

test('W1.4 a fork under changed code asks anew where the question is another, and takes the answer where it is the same', async () => {
  const { engine } = createBench();
  const computed = (code: string, prompt: string): Graph => {
    const run = (ctx: NodeContext): unknown => ctx.ask({ prompt });
    const ask = { ...node('pay', 'human', run), implementation: { run, codeText: code } };
    return graphOf('g', [node('before', 'external', () => 1), ask], edges('> before', 'before > pay', 'pay >'));
  };
  const { runId, waits } = await runToRest(engine, computed('one', 'Delete staging?'));
  await engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(engine, runId, computed('one', 'Delete staging?'))).status).toBe('completed');
  const fork = async (graph: Graph): Promise<unknown> => {
    const { runId: forked } = await engine.fork({ runId, seq: 1 }, { graph });
    const { status, state } = await resumeToRest(engine, forked, graph);
    return [status, state.outputs['pay']];
  };
  expect(await fork(computed('two', 'Delete production?'))).toEqual(['paused', undefined]);
  expect(await fork(computed('three', 'Delete staging?'))).toEqual(['completed', 'yes']);
});

test('W1.4 a signal or question that changed code waits for under another name leaves no wait behind', async () => {
  const { engine } = createBench();
  const hears = (name: string): Graph => pays(`hears ${name}`, (ctx) => ctx.receive(name));
  const { runId } = await runToRest(engine, hears('paid'));
  const changed = await resumeToRest(engine, runId, hears('settled'));
  expect(changed.waits.map(({ name }) => name)).toEqual(['settled']);
  await engine.signal(runId, 'settled', 7);
  expect((await resumeToRest(engine, runId, hears('settled'))).state.outputs['pay']).toBe(7);
});

test('W1.4 a timer of changed code is due at its new time; under the same code the recorded time holds', async () => {
  const bench = createBench();
  const { engine, clock } = bench;
  const day = 86_400_000;
  const begun = clock.now();
  const sleeps = (code: string, time: () => number): Graph =>
    pays(code, async (ctx) => {
      await ctx.sleepUntil(time());
      return clock.now() - begun;
    });
  const relative = sleeps('relative', () => clock.now() + day);
  const { runId } = await runToRest(engine, relative);
  await clock.advance(day / 2);
  expect((await resumeToRest(engine, runId, relative)).waits[0]?.dueAt).toBe(begun + day);
  const later = sleeps('fixed', () => begun + 3 * day);
  expect((await resumeToRest(engine, runId, later)).waits.map(({ dueAt }) => dueAt)).toEqual([begun + 3 * day]);
  await clock.advance(3 * day);
  expect((await resumeToRest(engine, runId, later)).state.outputs['pay']).toBeGreaterThanOrEqual(3 * day);
});

test('W6.3 a child run of another graph under the same name is refused in a resume', async () => {
  const { engine } = createBench();
  const child = (id: string): Graph =>
    graphOf(id, [node('n', 'read', (ctx) => ctx.receive('go'))], edges('> n', 'n >'));
  const calls = (id: string): Graph => pays(`calls ${id}`, (ctx) => ctx.run(child(id), {}));
  const { runId } = await runToRest(engine, calls('one'));
  const { status, error } = await resumeToRest(engine, runId, calls('two'));
  expect([status, error?.cause]).toMatchObject(['failed', { code: 'NODE_CALL_REFUSED' }]);
});

test('X4.9 a step whose effect class became another is refused in a resume', async () => {
  const { engine } = createBench();
  const steps = (effect: 'pure' | 'external'): Graph =>
    pays(`as ${effect}`, async (ctx) => {
      await ctx.step('charge', { effect }, () => 1);
      return ctx.ask({ prompt: 'Go on?' });
    });
  const { runId } = await runToRest(engine, steps('pure'));
  const { status, error } = await resumeToRest(engine, runId, steps('external'));
  expect([status, error?.cause]).toMatchObject(['failed', { code: 'NODE_CALL_REFUSED' }]);
});
