/** Lists of composed nodes: appended call by call, each item stored once, never twice (X4). */
import { expect, test } from 'vitest';
import type { Condition } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { loadState } from '../../history/load/load.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  changesOf,
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

/** Bytes of all checkpoints of a run. */
async function bytesOf(bench: Bench, runId: string): Promise<number> {
  const row = await rowOf(bench, runId);
  const rows = await bench.store.readCheckpoints(row, { from: 0, to: row.head });
  return rows.reduce((sum, { body }) => sum + body.byteLength, 0);
}

/** A conversation: a step, what it said appended, a person's turn appended; the list as it was seen on the way. */
const talking = (seen: (readonly unknown[])[], effects: string[] = []): Graph =>
  single(async (ctx) => {
    for (let turn = 1; turn <= 3; turn += 1) {
      const said = await ctx.step('say', { effect: 'write' }, ({ idempotencyKey }) => {
        effects.push(idempotencyKey);
        return `turn ${turn}`;
      });
      await ctx.append('talk', [said, { turn }]);
      seen.push(ctx.list('talk'));
      if (turn === 2) await ctx.append('talk', [await ctx.ask({ prompt: '?' })]);
    }
    return ctx.list('talk');
  });
const whole = ['turn 1', { turn: 1 }, 'turn 2', { turn: 2 }, 'yes', 'turn 3', { turn: 3 }];

test('X4 a function that is repeated finds its calls recorded, and sees of a list what it saw', async () => {
  const seen: (readonly unknown[])[] = [];
  const graph = talking(seen);
  const { engine } = createBench({ findGraph: () => graph });
  const paused = await runToRest(engine, graph);
  expect(seen.map(({ length }) => length)).toEqual([2, 4]);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  const done = await resumeToRest(engine, paused.runId, graph);
  expect(done.state.outputs['a']).toEqual(whole);
  expect(seen.slice(2)).toEqual([whole.slice(0, 2), whole.slice(0, 4), whole]);
  expect(seen.every((list) => Object.isFrozen(list) && Object.isFrozen(list[1]))).toBe(true);
  const appended = (await changesOf(engine, paused.runId))
    .join(' + ')
    .split(' + ')
    .filter((part) => part === 'append a');
  expect(appended).toHaveLength(4);
});

test('X4 a kill at any commit around appends loses no item and stores none twice', async () => {
  const bench = createBench();
  const paused = await runToRest(bench.engine, talking([]), {}, 'r');
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const { seq } = await resumeToRest(bench.engine, 'r', talking([]));
  expect(seq).toBeGreaterThan(6);
  for (let commits = 0; commits < seq; commits += 1) {
    const effects: string[] = [];
    const killed = createBench();
    const graph = talking([], effects);
    const start = dyingEngine(killed, commits).start(graph, {}, { runId: 'r' });
    await settleDown();
    await start;
    const next = afterCrash(killed);
    let result = await resumeToRest(next, 'r', graph);
    for (let more = 0; more < 5 && result.status === 'paused'; more += 1) {
      const [wait] = result.waits;
      const output = `turn ${effects.length}`;
      await next.answer('r', wait?.waitId ?? '', wait?.kind === 'doubt' ? { decision: 'happened', output } : 'yes');
      result = await resumeToRest(next, 'r', graph);
    }
    expect([commits, result.state.outputs['a']]).toEqual([commits, whole]);
    expect(new Set(effects).size).toBe(effects.length);
  }
});

test('X4 a call costs its own items, however long the list is; with saves between too', async () => {
  const item = 'x'.repeat(1_000);
  const bytes: number[] = [];
  for (const count of [50, 100]) {
    const bench = createBench();
    const graph = single(async (ctx) => {
      for (let i = 0; i < count; i += 1) {
        await ctx.append('all', [item]);
        await ctx.step('tick', {}, () => i);
        if (i % 10 === 9) await ctx.save(i);
      }
    });
    const { runId } = await runToRest(bench.engine, graph);
    bytes.push(await bytesOf(bench, runId));
  }
  const [half, full] = bytes as [number, number];
  expect(full / half).toBeLessThan(2.05);
  expect(full).toBeLessThan(100 * 1_000 * 1.5);
});

test('X4 a save keeps the lists and retires no item; calls after it count on', async () => {
  const { engine } = createBench();
  const graph = single(async (ctx) => {
    const from = Number(ctx.savedState ?? 0);
    const before = ctx.list('log').length;
    for (let i = from; i < 3; i += 1) {
      await ctx.append('log', [`item ${i}`]);
      if (i === 0) await ctx.save(1);
    }
    await ctx.ask({ prompt: '?' });
    return { before, log: ctx.list('log') };
  });
  const paused = await runToRest(engine, graph);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'go');
  const done = await resumeToRest(engine, paused.runId, graph);
  expect(done.state.outputs['a']).toEqual({ before: 1, log: ['item 0', 'item 1', 'item 2'] });
});

const choosing = (items: () => readonly unknown[]): Graph =>
  single(async (ctx) => {
    await ctx.append('log', ['first']);
    await ctx.append('log', items());
    await ctx.append('log', ['third']);
    await ctx.append('other', ['beside']);
    await ctx.ask({ prompt: '?' });
    return [ctx.list('log'), ctx.list('other')];
  });

test('X4 other items at the same place are refused in a resume by name, and done anew in a fork with what follows', async () => {
  const { engine } = createBench();
  let items: readonly unknown[] = ['second'];
  const graph = choosing(() => items);
  const paused = await runToRest(engine, graph);
  items = ['another', 'more'];
  const fork = await engine.fork({ runId: paused.runId, seq: paused.seq }, { answers: { a: 'go' } });
  const forked = await resumeToRest(engine, fork.runId, graph);
  expect(forked.state.outputs['a']).toEqual([['first', 'another', 'more', 'third'], ['beside']]);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'go');
  const failed = await resumeToRest(engine, paused.runId, graph);
  expect(failed.error?.cause).toMatchObject({
    code: 'NODE_CALL_REFUSED',
    message: expect.stringContaining('call 2 of list log') as string,
    data: { call: 'append', node: 'a' },
  });
  items = ['second'];
  const mended = await resumeToRest(engine, paused.runId, graph);
  expect(mended.state.outputs['a']).toEqual([['first', 'second', 'third'], ['beside']]);
});

test('X4.19 a fork that has appended its own items is held to them, as any run is', async () => {
  const { engine } = createBench();
  let items: readonly unknown[] = ['second'];
  const graph = choosing(() => items);
  const paused = await runToRest(engine, graph);
  items = ['another'];
  const { runId } = await engine.fork({ runId: paused.runId, seq: paused.seq });
  const forked = await resumeToRest(engine, runId, graph);
  expect(forked.status).toBe('paused');
  items = ['a third'];
  await engine.answer(runId, forked.waits[0]?.waitId ?? '', 'go');
  const failed = await resumeToRest(engine, runId, graph);
  expect(failed.error?.cause).toMatchObject({ code: 'NODE_CALL_REFUSED', data: { call: 'append', node: 'a' } });
  items = ['another'];
  expect((await resumeToRest(engine, runId, graph)).state.outputs['a']).toEqual([
    ['first', 'another', 'third'],
    ['beside'],
  ]);
});

test('X4 items of one list stand in the order of the calls, however long those of one take to be stored', async () => {
  const bench = createBench({ bounds: { inlineBytes: 1_000 } });
  const { blobs } = bench.options;
  const put: typeof blobs.put = async (...args) => {
    await settleDown();
    return blobs.put(...args);
  };
  const slow = { ...blobs, put };
  const large = 'large'.repeat(1_000);
  const { engine, store } = createBench({ ...bench.options, blobs: slow });
  const graph = single(async (ctx) => {
    await Promise.all([ctx.append('log', [large]), ctx.append('log', ['small']), ctx.append('log/2', ['beside'])]);
    await ctx.ask({ prompt: '?' });
    return ctx.list('log').map((item) => String(item).length);
  });
  const paused = await runToRest(engine, graph);
  const row = await rowOf(bench, paused.runId);
  const rows = await store.readCheckpoints(row, { from: 0, to: row.head });
  expect(rows.some(({ body }) => Buffer.from(body).toString().includes('largelarge'))).toBe(false);
  const next = createBench({ ...bench.options, blobs: slow }).engine;
  await next.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'go');
  const done = await resumeToRest(next, paused.runId, graph);
  expect(done.state.outputs['a']).toEqual([large.length, 5]);
});

test('V4 what a rule keeps out of the store is not written when it is appended', async () => {
  const bench = createBench({ redact: { store: ['password', 'keys'] } });
  const graph = single(async (ctx) => {
    await ctx.append('log', [{ user: 'ann', password: 'hunter2' }]);
    await ctx.append('keys', ['hunter2']);
    return [ctx.list('log'), ctx.list('keys')];
  });
  const done = await runToRest(bench.engine, graph);
  const row = await rowOf(bench, done.runId);
  const rows = await bench.store.readCheckpoints(row, { from: 0, to: row.head });
  const text = rows.map(({ body }) => Buffer.from(body).toString()).join();
  expect(text).toContain('ann');
  expect(text).not.toContain('hunter2');
});

test.each([
  ['what cannot be stored', 'VALUE_UNSTORABLE', (ctx: NodeContext) => ctx.append('log', [() => 1])],
  ['what is no list', 'NODE_CALL_REFUSED', (ctx: NodeContext) => ctx.append('log', 'text' as never)],
  ['a list without a name', 'ID_INVALID', (ctx: NodeContext) => ctx.append('', [1])],
  ['a call inside a step', 'NODE_CALL_REFUSED', (ctx: NodeContext) => ctx.step('s', {}, () => ctx.append('log', [1]))],
  [
    'more calls than a visit may make',
    'RUN_LIMIT',
    async (ctx: NodeContext) => {
      for (let i = 0; i < 4; i += 1) await ctx.append('log', [i]);
    },
  ],
] as const)('X4 %s is refused: %s', async (_, code, run) => {
  const { engine } = createBench({ bounds: { steps: 3 } });
  const failed = await runToRest(engine, single(run));
  expect(failed.error?.cause).toMatchObject({ code });
});

test('X4 a call that was refused leaves the place of the next one free', async () => {
  const { engine } = createBench();
  const graph = single(async (ctx) => {
    await ctx.append('log', [() => 1]).catch(() => {});
    await ctx.append('log', ['kept']);
    await ctx.ask({ prompt: '?' });
    return ctx.list('log');
  });
  const paused = await runToRest(engine, graph);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'go');
  expect((await resumeToRest(engine, paused.runId, graph)).state.outputs['a']).toEqual(['kept']);
});

test('X4 another visit of the node begins with empty lists, and a settled one keeps none in the live state', async () => {
  const bench = createBench();
  const isFirst = (expected: boolean): Condition => ({
    text: `first ${expected}`,
    evaluate: ({ state }) => (state.outputs['a'] as { visit: number }).visit < 2 === expected,
  });
  let visits = 0;
  const graph = graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        visits += 1;
        const before = ctx.list('log').length;
        await ctx.append('log', ['x']);
        return { before, visit: ctx.visit };
      }),
      node('b', 'pure', () => 1),
    ],
    [
      ...edges('> a', 'a > b'),
      { from: 'b', to: 'a', condition: isFirst(true) },
      { from: 'b', to: '__end__', condition: isFirst(false) },
    ],
  );
  const done = await runToRest(bench.engine, graph);
  expect(visits).toBe(2);
  expect(done.state.outputs['a']).toEqual({ before: 0, visit: 2 });
  const { root } = await loadState(bench.store, bench.options.blobs, await rowOf(bench, done.runId), done.seq);
  expect(root.frame.nodes['a']).not.toHaveProperty('lists');
});
