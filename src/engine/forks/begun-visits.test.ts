/** What becomes of a visit that had begun at the fork point, where the fork changes what it had read (H2.4). */
import { expect, test } from 'vitest';
import { outcome, type NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import type { ForkOptions, PreviewRow, RunResult } from '../api.ts';
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

const scratch = (ctx: NodeContext, name: string): unknown => ctx.state.scratch[name];
const setTo = (name: string, value: unknown): ForkOptions => ({ set: [{ path: ['scratch', name], value }] });

/** The first checkpoint in which a part of some kind is about a node. */
async function seqOf({ engine }: Bench, runId: string, kind: string, id: string): Promise<number> {
  for await (const event of engine.events(runId))
    if (event.type === 'checkpoint' && event.change.some((part) => part.kind === kind && part.node?.[0] === id))
      return event.seq;
  throw new Error(`there is no ${kind} of ${id}`);
}

async function forked(
  bench: Bench,
  graph: Graph,
  seq: number,
  options: ForkOptions,
): Promise<RunResult & { rows: readonly PreviewRow[] }> {
  const rows = await bench.engine.preview({ runId: 'r', seq }, options);
  const { runId } = await bench.engine.fork({ runId: 'r', seq }, options);
  return { ...(await resumeToRest(bench.engine, runId, graph)), rows };
}

/** `plan` writes an amount, `pay` pays what it reads. */
const payment = (paid: string[], reads?: readonly string[]): Graph =>
  graphOf(
    'g',
    [
      node('plan', 'pure', () => 'planned'),
      node('pay', 'external', (ctx) => paid.push(`${String(scratch(ctx, 'amount'))} ${ctx.idempotencyKey}`), {
        ...(reads && { reads }),
      }),
    ],
    edges('> plan', 'plan > pay', 'pay >'),
  );

test('H2.4 an effect that had begun at the fork point begins anew with what the fork sets, under a key of its own', async () => {
  const paid: string[] = [];
  const graph = payment(paid);
  const bench = createBench({ findGraph: () => graph });
  await runToRest(bench.engine, graph, {}, 'r');
  const seq = await seqOf(bench, 'r', 'intent', 'pay');
  const { rows, status } = await forked(bench, graph, seq, setTo('amount', 20));
  expect(status).toBe('completed');
  expect(paid.map((line) => line.split(' ')[0])).toEqual(['undefined', '20']);
  expect(new Set(paid.map((line) => line.split(' ')[1])).size).toBe(2);
  expect(rows.find((row) => row.node[0] === 'pay')).toMatchObject({
    prediction: 'runs again',
    because: 'begins anew with scratch.amount as set',
  });
});

test('H2.4 an effect that does not read what the fork sets is the one of the original', async () => {
  const paid: string[] = [];
  const graph = payment(paid, ['input']);
  const bench = createBench({ findGraph: () => graph });
  await runToRest(bench.engine, graph, {}, 'r');
  const seq = await seqOf(bench, 'r', 'intent', 'pay');
  const { rows } = await forked(bench, graph, seq, setTo('amount', 20));
  expect(paid).toHaveLength(1);
  expect(rows.find((row) => row.node[0] === 'pay')).toMatchObject({ prediction: 'replayed' });
});

test('H2.4 an effect in doubt is left to the original by a fork that changes its input: nobody is asked', async () => {
  const paid: string[] = [];
  let isBroken = true;
  const graph = graphOf(
    'g',
    [
      node('pay', 'external', (ctx) => {
        paid.push(String(scratch(ctx, 'amount')));
        if (isBroken) throw new Error('the line went dead');
      }),
    ],
    edges('> pay', 'pay >'),
  );
  const bench = createBench({ findGraph: () => graph });
  const failed = await runToRest(bench.engine, graph, {}, 'r');
  const asked = await resumeToRest(bench.engine, 'r', graph);
  expect([failed.status, asked.waits[0]?.kind]).toEqual(['failed', 'doubt']);
  isBroken = false;
  for (const seq of [failed.seq, asked.seq]) {
    const { status, waits, rows } = await forked(bench, graph, seq, setTo('amount', seq));
    expect([status, waits, paid.at(-1)]).toEqual(['completed', [], String(seq)]);
    expect(rows).toMatchObject([{ node: ['pay'], prediction: 'runs again' }]);
  }
  const same = await forked(bench, graph, asked.seq, {});
  expect([same.status, same.waits[0]?.kind]).toEqual(['paused', 'doubt']);
});

test('H2.4 a skip of a node that had begun follows what the fork sets', async () => {
  const paid: string[] = [];
  const when = {
    text: 'wanted',
    evaluate: ({ state }: { state: NodeContext['state'] }) => state.scratch['off'] !== true,
  };
  const graph = graphOf('g', [node('pay', 'external', () => paid.push('x'), { when })], edges('> pay', 'pay >'));
  const bench = createBench({ findGraph: () => graph });
  await runToRest(bench.engine, graph, {}, 'r');
  const { status, skipped } = await forked(bench, graph, await seqOf(bench, 'r', 'intent', 'pay'), setTo('off', true));
  expect([status, skipped, paid]).toEqual(['completed', ['pay'], ['x']]);
});

test('H2.4 a route to a node that had begun is decided again', async () => {
  const ran: string[] = [];
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => 'a'),
      node('b', 'external', () => ran.push('b')),
      node('c', 'external', () => ran.push('c')),
    ],
    [
      ...edges('> a', 'b >', 'c >'),
      { from: 'a', to: 'b', condition: { text: 'b', evaluate: ({ state }) => state.scratch['other'] !== true } },
      { from: 'a', to: 'c', condition: { text: 'c', evaluate: ({ state }) => state.scratch['other'] === true } },
    ],
  );
  const bench = createBench({ findGraph: () => graph });
  await runToRest(bench.engine, graph, {}, 'r');
  const { status } = await forked(bench, graph, await seqOf(bench, 'r', 'intent', 'b'), setTo('other', true));
  expect([status, ran]).toEqual(['completed', ['b', 'c']]);
});

/** Asks, with a step of each kind before and after the question. */
function asking(ran: string[], prompt: (ctx: NodeContext) => string, late = 'late'): Graph {
  return graphOf(
    'g',
    [
      node('a', 'pure', async (ctx) => {
        const who = scratch(ctx, 'who');
        await ctx.step('own', { effect: 'external', input: 'the same' }, () => ran.push('own'));
        await ctx.step('told', { effect: 'external', input: who }, () => ran.push(`told ${String(who)}`));
        await ctx.step('whole', { effect: 'external' }, () => ran.push(`whole ${String(who)}`));
        const answer = await ctx.ask({ name: 'go', prompt: prompt(ctx) });
        return [who, answer, scratch(ctx, late)];
      }),
    ],
    edges('> a', 'a >'),
  );
}

test('H2.4 a function that waits sees what the fork sets, and makes anew the calls whose input that changes', async () => {
  const ran: string[] = [];
  const graph = asking(ran, () => 'go on?');
  const bench = createBench({ findGraph: () => graph });
  const { seq, waits } = await runToRest(bench.engine, graph, {}, 'r');
  expect(ran.splice(0)).toEqual(['own', 'told undefined', 'whole undefined']);
  const { runId, waits: open, rows } = await forked(bench, graph, seq, setTo('who', 'Ada'));
  expect(ran).toEqual(['told Ada', 'whole Ada']);
  expect(rows).toMatchObject([{ prediction: 'runs again', because: 'begins anew with scratch.who as set' }]);
  expect(open.map(({ waitId }) => waitId)).toEqual(waits.map(({ waitId }) => waitId));
  await bench.engine.answer(runId, open[0]?.waitId ?? '', 'yes');
  const done = await resumeToRest(afterCrash(bench), runId, graph);
  expect(done.state.outputs['a']).toEqual(['Ada', 'yes', undefined]);
  expect(ran).toHaveLength(2);
});

test('H2.4 a question whose words read what the fork sets is asked anew; an answer to the old one is not taken', async () => {
  const graph = asking([], (ctx) => `pay ${String(scratch(ctx, 'who'))}?`);
  const bench = createBench({ findGraph: () => graph });
  const { seq } = await runToRest(bench.engine, graph, {}, 'r');
  for (const options of [setTo('who', 'Ada'), { ...setTo('who', 'Ada'), answers: { go: 'yes' } }]) {
    const { waits } = await forked(bench, graph, seq, options);
    expect(waits).toMatchObject([{ prompt: 'pay Ada?' }]);
  }
});

test('H2.4 what a waiting function had not read is as the fork sets it, and nothing of it is begun anew', async () => {
  const ran: string[] = [];
  const graph = asking(ran, () => 'go on?');
  const bench = createBench({ findGraph: () => graph });
  const { seq } = await runToRest(bench.engine, graph, {}, 'r');
  ran.length = 0;
  const { runId, rows } = await forked(bench, graph, seq, { ...setTo('late', 7), answers: { go: 'yes' } });
  expect(rows[0]?.because).toBeUndefined();
  expect((await bench.engine.inspect(runId)).state.outputs['a']).toEqual([undefined, 'yes', 7]);
  expect(ran).toEqual([]);
});

test('H2.4 a visit that had read what somebody else has changed since does not see what the fork sets, and the preview says why', async () => {
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', async (ctx) => {
        const count = scratch(ctx, 'count') ?? 0;
        await ctx.ask({ name: 'first', prompt: 'go on?' });
        return [count, scratch(ctx, 'late') ?? 'not set'];
      }),
      node('b', 'pure', () => outcome({ scratch: { count: 1 } })),
    ],
    edges('> a', '> b', 'a >', 'b >'),
  );
  const bench = createBench({ findGraph: () => graph });
  const { seq } = await runToRest(bench.engine, graph, {}, 'r');
  const { runId, rows } = await forked(bench, graph, seq, { ...setTo('late', 7), answers: { first: 'yes' } });
  expect(rows.find((row) => row.node[0] === 'a')).toMatchObject({
    prediction: 'runs again',
    because:
      'does not see what the fork sets: it goes on with the state that it began with, since it had read scratch.count, which changed meanwhile',
  });
  expect((await bench.engine.inspect(runId)).state.outputs['a']).toEqual([0, 'not set']);
});

test('H2.4 a child run goes on where its input is the same, and is another where the fork changes it', async () => {
  const ran: string[] = [];
  const child = graphOf(
    'child',
    [
      node('work', 'external', (ctx) => ran.push(`work ${JSON.stringify(ctx.input)}`)),
      node('ask', 'human', (ctx) => ctx.ask({ name: 'go', prompt: 'go on?' })),
    ],
    edges('> work', 'work > ask', 'ask >'),
  );
  const graph = graphOf(
    'g',
    [node('a', 'pure', (ctx) => ctx.run(child, { who: scratch(ctx, 'who') ?? null }), { subgraph: child })],
    edges('> a', 'a >'),
  );
  const bench = createBench({ findGraph: () => graph });
  const { seq } = await runToRest(bench.engine, graph, {}, 'r');
  expect(ran.splice(0)).toEqual(['work {"who":null}']);
  await forked(bench, graph, seq, setTo('other', 1));
  expect(ran).toEqual([]);
  await forked(bench, graph, seq, setTo('who', 'Ada'));
  expect(ran).toEqual(['work {"who":"Ada"}']);
});

test('H2.4 X2.10 a fork of a fork takes over what either had recorded of a visit that it begins anew', async () => {
  const ran: string[] = [];
  const graph = asking(ran, () => 'go on?');
  const bench = createBench({ findGraph: () => graph });
  const { seq } = await runToRest(bench.engine, graph, {}, 'r');
  const first = await forked(bench, graph, seq, setTo('who', 'Ada'));
  ran.length = 0;
  const { runId } = await bench.engine.fork({ runId: first.runId, seq: first.seq }, setTo('who', 'Bob'));
  await resumeToRest(bench.engine, runId, graph);
  expect(ran).toEqual(['told Bob', 'whole Bob']);
});
