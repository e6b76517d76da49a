/** Retired calls: they leave the live state, stay in the history, and are not made again (X4). */
import { expect, test } from 'vitest';
import { NodeFailure, type NodeContext } from '../../graph/contracts/node-contract.ts';
import { loadState } from '../../history/load/load.ts';
import { viewState } from '../../history/read/checkpoint-view.ts';
import type { NodeRecord } from '../../state/tree.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';

type Graph = ReturnType<typeof graphOf>;
const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));

async function recordAt(bench: Bench, runId: string, seq: number): Promise<NodeRecord> {
  const { root } = await loadState(bench.store, bench.options.blobs, await rowOf(bench, runId), seq);
  return root.frame.nodes['a'] as NodeRecord;
}

interface Standing {
  readonly turn: number;
  readonly summary: string;
}

/** An agent: turns, each an effect; after every second one a summary, with which the turns before are retired. */
const agent = (effects: string[] = [], outside: string[] = []): Graph =>
  single(async (ctx) => {
    const { turn: first, summary: before } = (ctx.retired as Standing | undefined) ?? { turn: 1, summary: '' };
    const system = await ctx.step('system', {}, () => (outside.push('system'), 'be kind'));
    let summary = before;
    const turns: unknown[] = [];
    for (let turn = first; turn <= 5; turn += 1) {
      const said = await ctx.step('turn', { effect: 'write', input: turn }, ({ idempotencyKey }) => {
        effects.push(idempotencyKey);
        return `turn ${turn}`;
      });
      turns.push(said);
      await ctx.append('log', [said]);
      ctx.emit(said, { recorded: true });
      if (turn === 3) turns.push(await ctx.ask({ prompt: '?' }));
      if (turn % 2 > 0) continue;
      summary = await ctx.step(
        'summary',
        { effect: 'external', idempotent: true },
        () => `${summary}[${turns.join()}]`,
      );
      turns.length = 0;
      await ctx.retire({ turn: turn + 1, summary }, { keep: ['system'] });
    }
    return { system, summary, turns, log: ctx.list('log') };
  });

const whole = {
  system: 'be kind',
  summary: '[turn 1,turn 2][turn 3,yes,turn 4]',
  turns: ['turn 5'],
  log: ['turn 1', 'turn 2', 'turn 3', 'turn 4', 'turn 5'],
};

async function answerAll(bench: Bench, graph: Graph, runId = 'r'): Promise<unknown> {
  const next = afterCrash(bench);
  let result = await resumeToRest(next, runId, graph);
  for (let more = 0; more < 5 && result.status === 'paused'; more += 1) {
    const [wait] = result.waits;
    const turn = Number(/turn\0?(\d*)/.exec(String(wait?.step))?.[1] || 1);
    const output = `turn ${turn}`;
    await next.answer(runId, wait?.waitId ?? '', wait?.kind === 'doubt' ? { decision: 'happened', output } : 'yes');
    result = await resumeToRest(next, runId, graph);
  }
  return result.state.outputs['a'];
}

test('X4 retired calls leave the live state and stay in the history; a function that is repeated makes none of them again', async () => {
  const bench = createBench();
  const effects: string[] = [];
  const outside: string[] = [];
  const graph = agent(effects, outside);
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  const live = await recordAt(bench, 'r', paused.seq);
  expect(Object.keys(live.steps ?? {})).toEqual(['system', 'turn\u00003', 'question']);
  expect(live.retired).toEqual({ from: { turn: 3, summary: '[turn 1,turn 2]' }, calls: { turn: 2, summary: 1 } });
  const { root } = await loadState(bench.store, bench.options.blobs, await rowOf(bench, 'r'), paused.seq);
  expect(viewState(root).nodes.find(({ path }) => path[0] === 'a')).toMatchObject({ retired: 3, lists: { log: 3 } });
  const past: string[] = [];
  for (let seq = 1; seq < paused.seq; seq += 1)
    past.push(Object.keys((await recordAt(bench, 'r', seq)).steps ?? {}).join());
  expect(past).toContain('system,turn,turn\u00002,summary');
  expect(await answerAll(bench, graph)).toEqual(whole);
  expect([effects.length, new Set(effects).size, outside.length]).toEqual([5, 5, 1]);
});

test('X4.11 P1 recorded calls that a repeated function passes over count as made, and are retired with the others', async () => {
  const keys: string[] = [];
  const graph = single(async (ctx) => {
    const attempt = (): Promise<unknown> =>
      ctx.step('try', { effect: 'write' }, ({ idempotencyKey }) => {
        keys.push(idempotencyKey);
        throw new NodeFailure('It is down.', { applied: 'no' });
      });
    if (ctx.retired === undefined) {
      if (ctx.past.steps().length === 0) await attempt().catch(() => undefined);
      else ctx.past.passOver((name) => name === 'try');
      await ctx.ask({ prompt: '?' });
      await ctx.retire(true);
    }
    await attempt().catch(() => undefined);
  });
  const bench = createBench();
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  const next = afterCrash(bench);
  await next.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(next, 'r', graph)).status).toBe('completed');
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(2);
  const { retired, steps } = await recordAt(bench, 'r', (await rowOf(bench, 'r')).head - 1);
  expect([retired?.calls, Object.keys(steps ?? {})]).toEqual([{ question: 1, try: 1 }, ['try\u00002']]);
});

test('X4 P1 a kill at any commit around retirements repeats no effect, loses none, and ends in the same state', async () => {
  const bench = createBench();
  await runToRest(bench.engine, agent(), {}, 'r');
  expect(await answerAll(bench, agent())).toEqual(whole);
  const { head } = await rowOf(bench, 'r');
  const keys: string[] = [];
  for (let commits = 0; commits < head; commits += 1) {
    const effects: string[] = [];
    const killed = createBench();
    const graph = agent(effects);
    const start = dyingEngine(killed, commits).start(graph, {}, { runId: 'r' });
    await settleDown();
    await start;
    expect([commits, await answerAll(killed, graph)]).toEqual([commits, whole]);
    expect(new Set(effects).size).toBe(effects.length);
    keys.push(...effects);
  }
  // The n-th call has one key, whether or not a crash came between.
  expect(new Set(keys).size).toBe(5);
});

test('X4 a function that does not read what was retired is refused before it repeats an effect', async () => {
  const bench = createBench();
  let effects = 0;
  const graph = single(async (ctx) => {
    await ctx.step('pay', { effect: 'external' }, () => (effects += 1));
    await ctx.retire('paid');
    await ctx.ask({ prompt: '?' });
  });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const failed = await resumeToRest(bench.engine, 'r', graph);
  expect(failed.error?.cause).toMatchObject({
    code: 'NODE_CALL_REFUSED',
    message: expect.stringContaining('ctx.retired') as string,
    data: { call: 'step', node: 'a' },
  });
  expect(effects).toBe(1);
});

test.each([
  [
    'while a step is running',
    (ctx: NodeContext) => (void ctx.step('slow', {}, () => new Promise(() => {})), ctx.retire(1)),
  ],
  ['with names that were never called', (ctx: NodeContext) => ctx.retire(1, { keep: ['sytem'] })],
  ['without saying where to go on', (ctx: NodeContext) => ctx.retire(undefined)],
  ['inside a step', (ctx: NodeContext) => ctx.step('s', {}, () => ctx.retire(1))],
] as const)('X4 a retirement %s is refused', async (_, run) => {
  const failed = await runToRest(createBench().engine, single(run));
  expect(failed.error?.cause).toMatchObject({ code: 'NODE_CALL_REFUSED', data: { call: 'retire' } });
});

test('X4 lists, events and keys count on after a retirement; after a save names begin anew', async () => {
  const bench = createBench();
  const keys: string[] = [];
  const graph = single(async (ctx) => {
    const from = Number(ctx.retired ?? ctx.savedState ?? 0);
    for (let i = from; i < 4; i += 1) {
      await ctx.step('s', { effect: 'write' }, ({ idempotencyKey }) => keys.push(idempotencyKey));
      await ctx.append('log', [i]);
      ctx.emit(i, { recorded: true });
      await ctx.ask({ prompt: '?' });
      if (i % 2 > 0) await ctx.save(i + 1);
      else await ctx.retire(i + 1);
    }
    return [ctx.list('log'), ctx.retired, ctx.savedState];
  });
  await runToRest(bench.engine, graph, {}, 'r');
  expect(await answerAll(bench, graph)).toEqual([[0, 1, 2, 3], undefined, 4]);
  expect([keys.length, new Set(keys).size]).toEqual([4, 4]);
  const events: unknown[] = [];
  for await (const event of createBench({ ...bench.options, findGraph: () => graph }).engine.events('r'))
    if (event.type === 'checkpoint')
      for (const { kind, detail } of event.change) if (kind === 'event') events.push(detail);
  expect(events).toEqual([0, 1, 2, 3]);
});

test('X4 child runs and answers are retired too, and calls of the kept names are made again', async () => {
  const bench = createBench();
  let children = 0;
  const child = graphOf('c', [node('in', 'pure', () => (children += 1))], edges('> in', 'in >'));
  const graph = single(async (ctx) => {
    const isBegun = ctx.retired === undefined;
    const kept = await ctx.ask({ name: 'kept', prompt: '?' });
    if (isBegun) {
      await ctx.run(child, {});
      await ctx.ask({ name: 'gone', prompt: '?' });
      await ctx.retire(true, { keep: ['kept'] });
    }
    await ctx.ask({ name: 'last', prompt: '?' });
    return kept;
  });
  let { waits } = await runToRest(bench.engine, graph, {}, 'r');
  for (const value of ['first', 'second']) {
    await bench.engine.answer('r', waits[0]?.waitId ?? '', value);
    ({ waits } = await resumeToRest(bench.engine, 'r', graph));
  }
  const live = await recordAt(bench, 'r', (await rowOf(bench, 'r')).head);
  expect([Object.keys(live.steps ?? {}), Object.keys(live.children ?? {})]).toEqual([['kept', 'last'], []]);
  await bench.engine.answer('r', waits[0]?.waitId ?? '', 'third');
  expect((await resumeToRest(bench.engine, 'r', graph)).state.outputs['a']).toBe('first');
  expect(children).toBe(1);
});

test('X2 a fork takes over what its original recorded, before a retirement and behind it', async () => {
  const bench = createBench();
  const effects: string[] = [];
  const graph = agent(effects);
  await runToRest(bench.engine, graph, {}, 'r');
  await answerAll(bench, graph);
  const { head } = await rowOf(bench, 'r');
  for (let seq = 0; seq < head - 1; seq += 1) {
    const fork = await bench.engine.fork({ runId: 'r', seq });
    expect([seq, await answerAll(bench, graph, fork.runId)]).toEqual([seq, whole]);
  }
  expect(effects).toHaveLength(5);
});
