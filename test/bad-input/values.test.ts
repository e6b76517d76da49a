/** Outcomes that cannot be stored, that are huge, deep, or named to do harm; nodes that throw, hang or go round for ever. */
import { expect, test } from 'vitest';
import { outcome, type NodeContext } from '../../src/graph/contracts/node-contract.ts';
import { subgraphNode } from '../../src/nodes/map-node.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';

const never = new Promise<never>(() => {});
const single = (run: (ctx: NodeContext) => unknown, more = {}): ReturnType<typeof graphOf> =>
  graphOf('g', [node('a', 'pure', run, more)], edges('> a', 'a >'));

function nested(depth: number): unknown {
  let value: unknown = 'leaf';
  for (let level = 0; level < depth; level += 1) value = { in: value };
  return value;
}

class Account {
  readonly owner = 'ada';
}
const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;
const sparse: unknown[] = [];
sparse[2] = 1;

test.each<[string, unknown, string]>([
  ['a function', { deep: [() => 1] }, 'outputs.a.deep.0'],
  ['a symbol', { mark: Symbol('m') }, 'outputs.a.mark'],
  ['an instance of a class', { list: [new Account()] }, 'outputs.a.list.0'],
  ['a cycle', { cycle }, 'outputs.a.cycle.self'],
  ['a list with holes', { sparse }, 'outputs.a.sparse'],
  ['a promise', { later: never }, 'outputs.a.later'],
  ['a weak map', { map: new WeakMap() }, 'outputs.a.map'],
])('C2 a node that returns %s fails with the path, and the run goes on once it is mended', async (_, value, path) => {
  const { engine } = createBench();
  let returned = value;
  const graph = single(() => returned);
  const failed = await runToRest(engine, graph);
  expect(failed.error?.code).toBe('NODE_FAILED');
  expect(failed.error?.cause).toMatchObject({ code: 'VALUE_UNSTORABLE', message: expect.stringContaining(path) });
  returned = 'mended';
  expect((await resumeToRest(engine, failed.runId, graph)).state.outputs['a']).toBe('mended');
});

test('X3 a write whose outcome cannot be stored may have happened: it is asked about, not repeated', async () => {
  const { engine } = createBench();
  let calls = 0;
  const graph = graphOf('g', [node('a', 'write', () => ({ calls: (calls += 1), by: () => 1 }))], edges('> a', 'a >'));
  const failed = await runToRest(engine, graph);
  expect(failed.error?.cause).toMatchObject({ code: 'VALUE_UNSTORABLE' });
  const paused = await resumeToRest(engine, failed.runId, graph);
  expect(paused.waits.map(({ kind }) => kind)).toEqual(['doubt']);
  await engine.answer(failed.runId, paused.waits[0]?.waitId ?? '', { decision: 'happened', output: 1 });
  expect((await resumeToRest(engine, failed.runId, graph)).state.outputs['a']).toBe(1);
  expect(calls).toBe(1);
});

test('E8 an output of 200 MB is refused with its size and the limit, and nothing of it is kept', async () => {
  const { engine, store } = createBench();
  const failed = await runToRest(
    engine,
    single(() => 'x'.repeat(200_000_000)),
  );
  expect(failed.error?.cause).toMatchObject({
    code: 'VALUE_TOO_LARGE',
    message: expect.stringMatching(/outputs\.a .*67108864/),
  });
  const rows = await store.readCheckpoints({ tenant: 'default', runId: failed.runId }, { from: 0, to: 99 });
  expect(rows.every(({ body }) => body.byteLength < 10_000)).toBe(true);
});

test('C5 an output over the inline limit is kept once, as a blob, and read back whole', async () => {
  const { engine, store } = createBench();
  const text = 'long '.repeat(100_000);
  const graph = graphOf(
    'g',
    [
      node('a', 'write', () => outcome({ output: text, scratch: { copy: text } })),
      node('b', 'pure', (ctx) => ctx.state.outputs['a']),
    ],
    edges('> a', 'a > b', 'b >'),
  );
  const done = await runToRest(engine, graph);
  expect(done.state.outputs['b']).toBe(text);
  expect(done.state.scratch['copy']).toBe(text);
  const rows = await store.readCheckpoints({ tenant: 'default', runId: done.runId }, { from: 0, to: 99 });
  expect(rows.every(({ body }) => body.byteLength < 10_000)).toBe(true);
  const fork = await engine.fork({ runId: done.runId, seq: 0 });
  expect((await resumeToRest(engine, fork.runId, graph)).state.scratch['copy']).toBe(text);
  const forked = await store.readCheckpoints({ tenant: 'default', runId: fork.runId }, { from: 0, to: 99 });
  expect(forked.every(({ body }) => body.byteLength < 10_000)).toBe(true);
});

test('P6 a value nested 400 deep is stored, as output and as input', async () => {
  const { engine } = createBench();
  const result = await runToRest(
    engine,
    single((ctx) => ctx.input),
    nested(400),
  );
  expect(result.state.outputs['a']).toEqual(nested(400));
});

test('P6 a value nested 100,000 deep is refused, as output and as input', async () => {
  const { engine } = createBench();
  const failed = await runToRest(
    engine,
    single(() => nested(100_000)),
  );
  expect(failed.error?.cause).toMatchObject({ code: 'VALUE_UNSTORABLE' });
  const started = engine.start(
    single(() => 1),
    nested(100_000),
  );
  await expect(started).rejects.toMatchObject({ code: 'VALUE_UNSTORABLE' });
});

const hostile =
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}},"$":"date","v":0,"hasOwnProperty":1}';

test('C2 keys like __proto__, constructor and $ are data like any other, in state, forks and patches', async () => {
  const { engine } = createBench();
  const parse = (): Record<string, unknown> => JSON.parse(hostile) as Record<string, unknown>;
  const graph = graphOf(
    'g',
    [
      node('__proto__', 'write', () => outcome({ output: parse(), scratch: { ...parse(), merged: parse() } })),
      node('constructor', 'write', (ctx) =>
        outcome({
          output: ctx.state.outputs['__proto__'],
          scratch: { merged: JSON.parse('{"__proto__":{"more":3}}') },
        }),
      ),
      node('$', 'read', async (ctx) => [await ctx.step('__proto__', { effect: 'write' }, parse), ctx.input]),
    ],
    edges('> __proto__', '__proto__ > constructor', 'constructor > $', '$ >'),
    { reducers: { 'scratch.merged': 'merge' } },
  );
  const done = await runToRest(engine, graph, parse());
  expect(done.status).toBe('completed');
  expect(JSON.stringify(done.state.outputs['constructor'])).toBe(hostile);
  expect(JSON.stringify(done.state.outputs['$'])).toBe(`[${hostile},${hostile}]`);
  expect(JSON.stringify(done.state.scratch['merged'])).toContain('"__proto__":{"polluted":1,"more":3}');
  const patch = { path: ['scratch', 'other', '__proto__', 'polluted'], value: 1 };
  const fork = await engine.fork({ runId: done.runId, seq: 0 }, { set: [patch] });
  const again = await resumeToRest(engine, fork.runId, graph);
  expect(JSON.stringify(again.state.scratch['merged'])).toBe(JSON.stringify(done.state.scratch['merged']));
  expect(JSON.stringify(again.state.scratch['other'])).toBe('{"__proto__":{"polluted":1}}');
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

const thrown: readonly (readonly [string, () => unknown])[] = [
  [
    'an error that holds a cycle and a function',
    () => Object.assign(new Error('odd'), { data: { cycle, run: () => 1 } }),
  ],
  ['an object without a prototype', () => Object.create(null)],
  ['a symbol', () => Symbol('odd')],
  ['undefined', () => undefined],
  ['a text', () => 'odd'],
];
test.each(thrown)('P6 a node or a step that throws %s fails, and can be tried again', async (_, make) => {
  for (const isStep of [false, true]) {
    const { engine } = createBench();
    let isBroken = true;
    const work = (): string => {
      if (isBroken) throw make();
      return 'mended';
    };
    const graph = single((ctx) => (isStep ? ctx.step('s', {}, work) : work()));
    const failed = await runToRest(engine, graph);
    expect(failed.error?.code).toBe('NODE_FAILED');
    expect((await resumeToRest(engine, failed.runId, graph)).status).toBe('failed');
    isBroken = false;
    expect((await resumeToRest(engine, failed.runId, graph)).state.outputs['a']).toBe('mended');
  }
});

test('E6 a node that hangs is ended by its timeout and told so; the run can be resumed', async () => {
  const { engine } = createBench();
  let isBroken = true;
  let reason: unknown;
  const graph = single(
    (ctx) => {
      if (!isBroken) return 'mended';
      ctx.signal.addEventListener('abort', () => (reason = ctx.signal.reason));
      return never;
    },
    { timeoutMs: 1_000 },
  );
  const failed = await runToRest(engine, graph);
  expect(failed.error).toMatchObject({ code: 'NODE_TIMED_OUT', data: { node: 'a', timeoutMs: 1_000 } });
  expect(reason).toMatchObject({ code: 'NODE_TIMED_OUT' });
  isBroken = false;
  expect((await resumeToRest(engine, failed.runId, graph)).state.outputs['a']).toBe('mended');
});

test('E7 a node that hangs and heeds no signal is cancelled by force after the grace period; its effect stays in doubt in a fork', async () => {
  const bench = createBench();
  const { engine, clock } = bench;
  let calls = 0;
  const graph = graphOf(
    'g',
    [node('a', 'write', () => ((calls += 1) === 1 ? never : calls), { timeoutMs: 10 ** 12 })],
    edges('> a', 'a >'),
  );
  const handle = await engine.start(graph, {});
  await expect.poll(() => calls).toBe(1);
  const before = clock.timeMs;
  await engine.cancel(handle.runId);
  const { status, seq } = await handle.result();
  expect(status).toBe('cancelled');
  expect(clock.timeMs - before).toBeGreaterThanOrEqual(5_000);
  await expect(engine.resume(handle.runId, { graph })).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
  const fork = await engine.fork({ runId: handle.runId, seq });
  // In a process that knows that the hanging one is gone.
  const forked = await resumeToRest(afterCrash(bench), fork.runId, graph);
  expect(forked.waits.map(({ kind }) => kind)).toEqual(['doubt']);
  expect(calls).toBe(1);
});

test('G4 a loop without end stops at maxVisits with a typed error that names the node', async () => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'pure', () => 1), node('b', 'pure', () => 1)], edges('> a', 'a > b', 'b > a'), {
    policies: { maxVisits: 50 },
  });
  const failed = await runToRest(engine, graph);
  expect(failed.error?.cause).toMatchObject({ code: 'RUN_LIMIT', data: { limit: 'maxVisits', value: 50, path: 'a' } });
});

test.each([
  [
    'a text',
    'done',
    'it is a string, and has to be { output, goto, verdict, scratch, artifacts, diagnostics }, or some of them',
  ],
  ['a list', ['done'], /it is a list, and has to be \{ output, /],
  ['a promise', Promise.resolve({ output: 1 }), /it is a Promise, and has to be \{ output, /],
  ['nothing', undefined, /it is undefined, and has to be \{ output, /],
  ['a text as updates', { scratch: 'done' }, 'at scratch: it is a string, and has to be an object of updates'],
  ['no updates', { artifacts: null }, 'at artifacts: it is null, and has to be an object of updates'],
  [
    'a promise of updates',
    { scratch: Promise.resolve({ a: 1 }) },
    'at scratch: it is a Promise, and has to be an object',
  ],
])('P6 an outcome, or the output of a subgraph node, that is %s is refused in words', async (_, parts, words) => {
  const child = single(() => 1);
  const { implementation } = subgraphNode(child, { output: () => parts as object });
  const graphs = [
    single(() => outcome(parts as object)),
    single(implementation.run, { effect: 'read', subgraph: child }),
  ];
  for (const graph of graphs) {
    const { error } = await runToRest(createBench().engine, graph);
    expect(error?.message).toMatch(words);
    expect(error?.cause).toMatchObject({
      code: 'NODE_OUTPUT_INVALID',
      message: expect.stringContaining('the outcome of node a does not fit'),
      data: { node: 'a' },
    });
  }
});

test('P6 an outcome with a part that nothing reads, or a target that is none, is refused by name', async () => {
  const { engine } = createBench();
  const odd = await runToRest(
    engine,
    single(() => outcome({ output: 1, scrach: { x: 1 } } as object)),
  );
  expect(odd.error?.cause).toMatchObject({ code: 'STATE_UNKNOWN_CHANNEL', message: expect.stringContaining('scrach') });
  const lost = await runToRest(
    engine,
    single(() => outcome({ goto: 'nowhere' })),
  );
  expect(lost.error?.cause).toMatchObject({ code: 'ROUTE_UNKNOWN', message: expect.stringContaining('nowhere') });
});
