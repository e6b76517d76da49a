/** Forks that cannot act (X7): what is taken from the record, what is refused, what stands in, and how their time passes. */
import { expect, test } from 'vitest';
import type { ForkOptions, ResumeOptions, RunResult } from '../api.ts';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  rowOf,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';

/** What happened outside. */
interface World {
  acts: string[];
}

/** Reads a price, asks a model twice, pays, and says what it did. */
function desk(world: World, { prompt = 'plain', factor = 1 } = {}): Graph {
  const act = <Value>(what: string, value: Value): Value => {
    world.acts.push(what);
    return value;
  };
  return graphOf(
    'desk',
    [
      node('price', 'read', () => act('read', 10)),
      node('draft', 'pure', (ctx) =>
        ctx.step('model', { effect: 'external', idempotent: true, isModelCall: true, input: prompt }, () =>
          act('model', `${prompt} letter`),
        ),
      ),
      node('pay', 'pure', (ctx) =>
        ctx.step('pay', { effect: 'external', input: { sum: (ctx.state.outputs['price'] as number) * factor } }, () =>
          act('pay', 'paid'),
        ),
      ),
      node('mail', 'external', (ctx) => act('mail', `sent ${String(ctx.state.outputs['draft'])}`)),
    ],
    edges('> price', 'price > draft', 'draft > pay', 'pay > mail', 'mail >'),
  );
}

async function forked(
  { engine }: Bench,
  graph: Graph,
  options: ForkOptions = {},
  resume: ResumeOptions = {},
): Promise<RunResult> {
  const fork = await engine.fork({ runId: 'r', seq: 0 }, { effects: 'refuse', graph, ...options });
  return (await engine.resume(fork.runId, { graph, ...resume })).result();
}

const refusals = ({ waits }: RunResult): readonly unknown[] =>
  waits.filter(({ kind }) => kind === 'refused').map(({ node: [id], metadata }) => [id, metadata]);

test('X7.1 a fork that cannot act takes reads, answers of models and effects of equal input from the record', async () => {
  const bench = createBench();
  const world: World = { acts: [] };
  const original = await runToRest(bench.engine, desk(world), {}, 'r');
  world.acts = [];
  const same = await forked(bench, desk(world), { rerunPure: true });
  expect([same.status, same.state.outputs]).toEqual(['completed', original.state.outputs]);
  expect(world.acts).toEqual([]);
});

test('X7.2 what the record does not have is refused, by a wait that says what it would have done; models are asked', async () => {
  const bench = createBench();
  const world: World = { acts: [] };
  await runToRest(bench.engine, desk(world), {}, 'r');
  world.acts = [];
  const changed = await forked(bench, desk(world, { prompt: 'kind', factor: 2 }), { rerunPure: true });
  expect(changed.status).toBe('paused');
  expect(refusals(changed)).toEqual([['pay', { effect: 'external', step: 'pay', input: { sum: 20 } }]]);
  expect(changed.waits[0]?.prompt).toBe('would act: pay/pay');
  const kind = await forked(bench, desk(world, { prompt: 'kind' }), { rerunPure: true });
  expect(refusals(kind)).toEqual([['mail', { effect: 'external' }]]);
  expect(world.acts).toEqual(['model', 'model']);
});

test('X7.2 an answer to a refused wait is refused, a catch does not hear it, and what runs beside it goes on', async () => {
  const bench = createBench();
  const graph = (sum: number): Graph =>
    graphOf(
      'both',
      [
        node('pay', 'pure', (ctx) =>
          ctx.step('pay', { effect: 'external', input: sum }, () => sum).catch(() => 'caught'),
        ),
        node('beside', 'pure', () => `beside ${sum}`),
      ],
      edges('> pay', 'pay >', '> beside', 'beside >'),
    );
  await runToRest(bench.engine, graph(1), {}, 'r');
  const { runId, status, waits, state } = await forked(bench, graph(2), { rerunPure: true });
  expect([status, state.outputs]).toEqual(['paused', { beside: 'beside 2' }]);
  const answered = bench.engine.answer(runId, waits[0]?.waitId ?? '', 'happened');
  await expect(answered).rejects.toMatchObject({ code: 'WAIT_REFUSED' });
});

test('X7.3 a fork of such a fork cannot act either, and neither can one that goes on after a crash', async () => {
  const bench = createBench();
  const world: World = { acts: [] };
  await runToRest(bench.engine, desk(world), {}, 'r');
  world.acts = [];
  const graph = desk(world, { factor: 2 });
  const first = await forked(bench, graph, { rerunPure: true });
  const other = afterCrash(bench);
  const resumed = await (await other.resume(first.runId, { graph })).result();
  expect(refusals(resumed)).toHaveLength(1);
  const second = await other.fork(
    { runId: first.runId, seq: first.seq },
    { set: [{ path: ['scratch', 'a'], value: 1 }] },
  );
  expect(refusals(await (await other.resume(second.runId, { graph })).result())).toHaveLength(1);
  expect(world.acts).toEqual([]);
});

test('X7.3 no worker claims such a fork: its due time never comes', async () => {
  const bench = createBench();
  const world: World = { acts: [] };
  const graph = desk(world);
  await runToRest(bench.engine, graph, {}, 'r');
  bench.engine.know(graph);
  const { runId } = await bench.engine.fork({ runId: 'r', seq: 0 }, { effects: 'refuse' });
  const row = await rowOf(bench, runId);
  const { claim } = await bench.store.claimRun({ ...row, workerId: 'gone', leaseMs: 1 });
  expect(claim).toBeDefined();
  await bench.store.postMessage({
    tenant: row.tenant,
    runId,
    kind: 'signal',
    name: 's',
    body: new Uint8Array(),
    at: 0,
  });
  for (const at of [row.createdAt, 4e15])
    expect(await bench.store.listClaimable({ tenant: row.tenant, limit: 9, at })).toEqual([]);
});

test('X7.4 a recorded failure of a read is its end, and is not read again', async () => {
  const bench = createBench();
  let reads = 0;
  const graph = graphOf(
    'fails',
    [
      node('inner', 'pure', (ctx) =>
        ctx
          .step('look', { effect: 'read', input: 1 }, () => {
            reads += 1;
            throw new NodeFailure('gone', { code: 'GONE' });
          })
          .catch((error: { code: string }) => error.code),
      ),
      node('outer', 'read', () => {
        reads += 1;
        throw new NodeFailure('away', { code: 'AWAY' });
      }),
      node('after', 'pure', ({ state }) => state.outputs['inner']),
    ],
    [...edges('> inner', 'inner > outer', 'after >'), { from: 'outer', to: 'after', on: 'failed' }],
  );
  const { state } = await runToRest(bench.engine, graph, {}, 'r');
  expect([state.outputs['after'], reads]).toEqual(['GONE', 2]);
  const fork = await forked(bench, graph, { rerunPure: true });
  expect([fork.status, fork.state.outputs['after'], reads]).toEqual(['completed', 'GONE', 2]);
});

test('X7.4 a read that is not on record is refused, unless reads may be live', async () => {
  const bench = createBench();
  const graph = (key: string): Graph =>
    graphOf(
      'reads',
      [node('look', 'pure', (ctx) => ctx.step('look', { effect: 'read', input: key }, () => key))],
      edges('> look', 'look >'),
    );
  await runToRest(bench.engine, graph('a'), {}, 'r');
  const refused = await forked(bench, graph('b'), { rerunPure: true });
  expect(refusals(refused)).toEqual([['look', { effect: 'read', step: 'look', input: 'b' }]]);
  const live = await forked(bench, graph('b'), { rerunPure: true, reads: 'live' });
  expect([live.status, live.state.outputs['look']]).toEqual(['completed', 'b']);
});

test('X7.5 a stand-in gives what a refused effect would have given, by the name of its node or step', async () => {
  const bench = createBench();
  const world: World = { acts: [] };
  await runToRest(bench.engine, desk(world), {}, 'r');
  world.acts = [];
  const standIns: ResumeOptions['standIns'] = {
    pay: ({ input }) => `would pay ${(input as { sum: number }).sum}`,
    mail: ({ node: path }) => `would ${path.join('/')}`,
  };
  const graph = desk(world, { prompt: 'kind', factor: 3 });
  const { runId } = await forked(bench, graph, { rerunPure: true });
  const { status, state } = await (await bench.engine.resume(runId, { graph, standIns })).result();
  expect([status, state.outputs['pay'], state.outputs['mail']]).toEqual(['completed', 'would pay 30', 'would mail']);
  expect(world.acts).toEqual(['model']);
});

test('X7.6 functions of which nobody declared what they do are refused by name, unless the fork may run them', async () => {
  const bench = createBench();
  let calls = 0;
  const graph = graphOf(
    'bare',
    [node('bare', 'pure', () => (calls += 1), { isDeclared: false })],
    edges('> bare', 'bare >'),
  );
  await runToRest(bench.engine, graph, {}, 'r');
  expect((await forked(bench, graph)).status).toBe('completed');
  expect(refusals(await forked(bench, graph, { rerunPure: true }))).toEqual([['bare', { effect: 'undeclared' }]]);
  expect(calls).toBe(1);
  expect((await forked(bench, graph, { rerunPure: true, undeclared: 'run' })).status).toBe('completed');
  expect(calls).toBe(2);
});

test('X7.7 a node whose recorded visit made calls runs again, and each call is judged, though its input is equal', async () => {
  const bench = createBench();
  const graph = (rate: number): Graph =>
    graphOf(
      'calls',
      [node('pay', 'pure', (ctx) => ctx.step('pay', { effect: 'external', input: rate }, () => rate))],
      edges('> pay', 'pay >'),
    );
  await runToRest(bench.engine, graph(1), {}, 'r');
  expect(refusals(await forked(bench, graph(2)))).toEqual([['pay', { effect: 'external', step: 'pay', input: 2 }]]);
});

test('X7.8 values that a function drew come from the record, also where it is run again by force', async () => {
  let drawn = 0;
  const bench = createBench();
  const options = { ...bench.options, ids: { ...bench.options.ids, random: () => (drawn += 1) } };
  const { createEngine } = await import('../engine.ts');
  const engine = createEngine(options);
  const graph = (more: string): Graph =>
    graphOf(
      'draws',
      [
        node('draw', 'pure', async (ctx) => {
          const values = [ctx.random(), ctx.now(), ctx.uuid()];
          await ctx.step('keep', { effect: 'pure', input: more }, () => more);
          return values;
        }),
      ],
      edges('> draw', 'draw >'),
    );
  const original = await runToRest(engine, graph('a'), {}, 'r');
  const fork = await forked({ ...bench, engine }, graph('b'), { rerunPure: true });
  expect(fork.state.outputs['draw']).toEqual(original.state.outputs['draw']);
});

/** Asks with a reminder at hand: whichever of a timer and an answer comes first. */
const race = (prompt: string, waitMs = 1_000): Graph =>
  graphOf(
    'race',
    [
      node('ask', 'human', async (ctx: NodeContext) => {
        const began = ctx.now();
        const first = await Promise.race([
          ctx.sleepUntil(began + waitMs).then(() => 'reminded'),
          ctx.ask({ name: 'ok', prompt, choices: ['yes', 'no'] }),
        ]);
        return [first, ctx.now() - began >= waitMs];
      }),
    ],
    edges('> ask', 'ask >'),
  );

test('X7.9 an answer that came before a timer does so in the fork, and nothing waits for the clock', async () => {
  const bench = createBench({ bounds: { holdTimersMs: 0, holdQuestionsMs: 0 } });
  const { waits } = await runToRest(bench.engine, race('Pay?'), {}, 'r');
  await bench.engine.answer('r', waits.find(({ kind }) => kind === 'question')?.waitId ?? '', 'yes');
  const original = await (await bench.engine.resume('r', { graph: race('Pay?') })).result();
  expect(original.state.outputs['ask']).toEqual(['yes', false]);
  const fork = await forked(bench, race('Pay?'), { rerunPure: true });
  expect([fork.status, fork.state.outputs['ask']]).toEqual(['completed', ['yes', false]]);
});

test('X7.9 past the record the nearest timer ends when nothing else can go on, and the time that functions see follows', async () => {
  const bench = createBench({ bounds: { holdTimersMs: 0, holdQuestionsMs: 0 } });
  const { waits } = await runToRest(bench.engine, race('Pay?'), {}, 'r');
  await bench.engine.answer('r', waits.find(({ kind }) => kind === 'question')?.waitId ?? '', 'yes');
  await (await bench.engine.resume('r', { graph: race('Pay?') })).result();
  const fork = await forked(bench, race('Pay at once?', 5_000), { rerunPure: true });
  expect([fork.status, fork.state.outputs['ask']]).toEqual(['completed', ['reminded', true]]);
});

const asks = (prompt: string): Graph =>
  graphOf(
    'asks',
    [node('ask', 'human', (ctx) => ctx.ask({ name: 'ok', prompt, choices: ['yes', 'no'] }))],
    edges('> ask', 'ask >'),
  );

test('X7.10 a question takes the recorded answer if it is equal, else the one that the fork was given, else it stays open', async () => {
  const bench = createBench();
  const { waits, seq } = await runToRest(bench.engine, asks('Pay?'), {}, 'r');
  await bench.engine.answer('r', waits[0]?.waitId ?? '', 'yes');
  await (await bench.engine.resume('r', { graph: asks('Pay?') })).result();
  expect((await forked(bench, asks('Pay?'))).state.outputs['ask']).toBe('yes');
  expect((await forked(bench, asks('Pay?'), { answers: { ok: 'no' } })).state.outputs['ask']).toBe('no');
  const other = await forked(bench, asks('Pay now?'), { rerunPure: true });
  expect([other.status, other.waits.map(({ kind }) => kind)]).toEqual(['paused', ['question']]);
  // It was open at this fork point.
  const { runId } = await bench.engine.fork({ runId: 'r', seq }, { effects: 'refuse' });
  const result = await (await bench.engine.resume(runId, { graph: asks('Pay?') })).result();
  expect(result.state.outputs['ask']).toBe('yes');
});

test('X7.11 models are asked anew where that is wanted, though their answers are on record', async () => {
  const bench = createBench();
  const world: World = { acts: [] };
  await runToRest(bench.engine, desk(world), {}, 'r');
  world.acts = [];
  const { status } = await forked(bench, desk(world), { resample: true });
  expect([status, world.acts]).toEqual(['completed', ['model']]);
});
