import { expect, test } from 'vitest';
import { NodeFailure, outcome } from '../graph/node-contract.ts';
import { createEngine } from './engine.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest, changesOf, testIds } from '../../test/engine-kit.ts';
const T = { timeout: 3000 };
const soon = () => new Promise((r) => setTimeout(r, 20));

test('a: close while the loop rests', T, async () => {
  const { engine } = createBench();
  const ids = Array.from({ length: 1500 }, (_, i) => `n${i}`);
  let closing: Promise<void> | undefined;
  const graph = graphOf('g', ids.map((id, i) => node(id, 'pure', () => { if (i === 511) setImmediate(() => { closing = engine.close(); }); })),
    edges(`> n0`, ...ids.slice(1).map((id, i) => `n${i} > ${id}`), 'n1499 >'), { policies: { checkpoint: 'none' } });
  const handle = await engine.start(graph, {}, { runId: 'r' });
  await expect(handle.result()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  await closing;
});

test('b: dangling child waits', T, async () => {
  const { engine } = createBench();
  const child = graphOf('child', [node('q', 'human', (ctx) => ctx.ask({ prompt: '?' })), node('bad', 'pure', async () => { await soon(); throw new Error('bad'); })], edges('> q', '> bad', 'q >', 'bad >'));
  const graph = graphOf('p', [node('sub', 'read', async (ctx) => { const r = await ctx.run(child, 1); return r.status; }), node('q2', 'human', (ctx) => ctx.ask({ prompt: 'x' }))], edges('> sub', 'sub > q2', 'q2 >'));
  const r = await runToRest(engine, graph);
  expect(r.status).toBe('paused');
  expect(r.waits.map((w) => w.node.join('/'))).toEqual(['q2']);
  await engine.answer(r.runId, r.waits[0]!.waitId, 1);
  expect((await resumeToRest(engine, r.runId, graph)).status).toBe('completed');
});

test('c: race of children', T, async () => {
  const bench = createBench();
  const { engine } = bench;
  const fast = graphOf('fast', [node('f', 'pure', async () => 'f')], edges('> f', 'f >'));
  const slow = graphOf('slow', [node('s', 'pure', async () => { await soon(); return 's'; }), node('t', 'write', () => 't')], edges('> s', 's > t', 't >'));
  const graph = graphOf('p', [node('sub', 'read', async (ctx) => { const r = await Promise.race([ctx.run(fast, 1), ctx.run(slow, 1)]); return r.state.outputs['f']; }), node('z', 'pure', async () => { await soon(); await soon(); await soon(); })], edges('> sub', 'sub > z', 'z >'));
  const r = await runToRest(engine, graph);
  expect(r.status).toBe('completed');
  expect((await afterCrash({ ...bench, options: { ...bench.options, findGraph: () => graph } }).inspect(r.runId)).status).toBe('completed');
  console.log(await changesOf(createEngine({ ...bench.options, findGraph: () => graph }), r.runId));
});

test('c2: retry while a child of the last attempt still runs', T, async () => {
  const bench = createBench();
  const { engine } = bench;
  let runs = 0;
  const bad = graphOf('bad', [node('b', 'pure', async () => { throw new Error('x'); })], edges('> b', 'b >'));
  const slow = graphOf('slow', [node('s', 'write', async () => { runs += 1; await soon(); await soon(); return 's'; })], edges('> s', 's >'));
  const graph = graphOf('p', [node('sub', 'read', async (ctx) => {
    const [a, b] = await Promise.all([ctx.run(slow, 1, { name: 'slow' }), ctx.run(bad, 1, { name: 'bad' }).then((r) => { if (ctx.attempt === 1) throw new Error('no'); return r; })]);
    return a.state.outputs['s'];
  }, { retry: { attempts: 2, delayMs: 1 } })], edges('> sub', 'sub >'));
  const r = await runToRest(engine, graph);
  expect(r.status).toBe('completed');
  expect(runs).toBe(1);
});

test('d: fork of a loop with child effects', T, async () => {
  const { engine } = createBench();
  const child = graphOf('child', [node('w', 'write', (ctx) => `w${String(ctx.input)}`)], edges('> w', 'w >'));
  let writes = 0;
  const graph = graphOf('p', [
    node('sub', 'read', async (ctx) => { const r = await ctx.run(child, ctx.visit); writes += 1; return r.state.outputs['w']; }),
    node('check', 'pure', (ctx) => outcome({ goto: ctx.visit < 3 ? 'sub' : 'out' })),
    node('out', 'pure', (ctx) => ctx.state.outputs['sub'])],
    edges('> sub', 'sub > check', 'check > sub', 'check > out', 'out >'));
  const r = await runToRest(engine, graph);
  expect(r.status).toBe('completed');
  const f = await engine.fork({ runId: r.runId, seq: 0 });
  const again = await resumeToRest(engine, f.runId, graph);
  expect(again.state.outputs['out']).toBe('w3');
});

test('e: fork, saves, pause: each record once', T, async () => {
  const bench = createBench();
  let n = 0;
  const graph = graphOf('p', [node('a', 'read', async (ctx) => {
    const out: unknown[] = [];
    for (let i = (ctx.savedState as { i: number } | undefined)?.i ?? 0; i < 3; i += 1) {
      const v = await ctx.step('w', { effect: 'write', input: 1 }, () => (n += 1));
      const prev = (ctx.savedState as { all?: unknown[] } | undefined)?.all ?? [];
      await ctx.save({ i: i + 1, all: [...prev, v] });
      await ctx.sleepUntil(bench.clock.timeMs + 3_600_000, `s${i}`);
      out.push(v);
    }
    return (ctx.savedState as { all: unknown[] }).all;
  })], edges('> a', 'a >'));
  let r = await runToRest(bench.engine, graph, {}, 'orig');
  for (let k = 0; k < 6 && r.status === 'paused'; k += 1) { bench.clock.timeMs += 4_000_000; r = await resumeToRest(bench.engine, 'orig', graph); }
  expect(r.state.outputs['a']).toEqual([1, 2, 3]);
  const f = await bench.engine.fork({ runId: 'orig', seq: 0 });
  let g = await resumeToRest(bench.engine, f.runId, graph);
  for (let k = 0; k < 6 && g.status === 'paused'; k += 1) { bench.clock.timeMs += 4_000_000; g = await resumeToRest(bench.engine, f.runId, graph); }
  expect(n).toBe(3);
  expect(g.state.outputs['a']).toEqual([1, 2, 3]);
});

test('f: step names with NUL', T, async () => {
  const { engine } = createBench();
  const graph = graphOf('p', [node('a', 'read', async (ctx) => [await ctx.step('s', {}, () => 1), await ctx.step('s', {}, () => 2), await ctx.step('s\u00002', {}, () => 3)])], edges('> a', 'a >'));
  expect((await runToRest(engine, graph)).state.outputs['a']).toEqual([1, 2, 3]);
});

test.each([['cyclic', () => { const e = new Error('x') as Error & { data: unknown }; const o: Record<string, unknown> = {}; o['o'] = o; e.data = { o, f: () => 1 }; return e; }], ['null proto', () => Object.create(null)], ['symbol', () => Symbol('x')], ['undefined', () => undefined]])('g: a step and a node throw %s', T, async (_, make) => {
  const { engine } = createBench();
  for (const run of [async (ctx: any) => ctx.step('s', {}, () => { throw make(); }), () => { throw make(); }]) {
    const graph = graphOf('p', [node('a', 'read', run as any)], edges('> a', 'a >'));
    const r = await runToRest(engine, graph);
    expect(r.status).toBe('failed');
    expect((await resumeToRest(engine, r.runId, graph)).status).toBe('failed');
  }
});

test('h: answers of odd kinds', T, async () => {
  const { engine } = createBench();
  const graph = graphOf('p', [node('a', 'human', (ctx) => ctx.ask({ prompt: '?', choices: ['y'] })), node('b', 'human', (ctx) => ctx.ask({ prompt: '?', schema: { type: 'string', pattern: '(' } }))], edges('> a', '> b', 'a >', 'b >'));
  const r = await runToRest(engine, graph);
  console.log(r.status, r.error?.message, r.waits.length);
  for (const w of r.waits) {
  await expect(engine.answer(r.runId, w.waitId, 1n)).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  await expect(engine.answer(r.runId, w.waitId, 'x')).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  await expect(engine.answer(r.runId, w.waitId, () => 1)).rejects.toMatchObject({ code: 'VALUE_UNSTORABLE' });
  }
  await expect(engine.signal(r.runId, 's', () => 1)).rejects.toMatchObject({ code: 'VALUE_UNSTORABLE' });
  await expect(engine.signal('none', 's', 1)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await expect(engine.signal(r.runId, 'x'.repeat(10000), 1)).rejects.toMatchObject({ code: 'ID_INVALID' });
});

test('i: releasing the claim fails', T, async () => {
  const bench = createBench();
  const { CairnError } = await import('../errors.ts');
  const store = { ...bench.store, releaseClaim: async () => { throw new CairnError('STORE_UNAVAILABLE', { store: 'm' }); } };
  const engine = createEngine({ ...bench.options, store });
  const graph = graphOf('p', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const handle = await engine.start(graph, {});
  const events = (async () => { for await (const _ of handle.events()); })();
  expect((await handle.result()).status).toBe('completed');
  await events;
});

test('j: answer and resume in the window of the pause', T, async () => {
  const bench = createBench();
  const { engine } = bench;
  const graph = graphOf('p', [node('a', 'human', (ctx) => ctx.ask({ prompt: '?' }))], edges('> a', 'a >'));
  const handle = await engine.start(graph, {}, { runId: 'r' });
  let again: any;
  for await (const e of handle.events()) if (e.type === 'checkpoint' && e.change.some((p) => p.kind === 'pause')) {
    const { rows } = await bench.store.listWaits({ tenant: 'default', runId: 'r' });
    await engine.answer('r', rows[0]!.waitId, 1);
    again = await engine.resume('r', { graph });
  }
  expect((await again.result()).status).toBe('completed');
});

test('k: close while a run is being opened', T, async () => {
  const bench = createBench();
  let ran = false;
  const graph = graphOf('p', [node('a', 'pure', async () => { await soon(); ran = true; })], edges('> a', 'a >'));
  await bench.engine.start(graph, {}, { runId: 'r', detach: true });
  const opening = bench.engine.resume('r', { graph });
  await bench.engine.close();
  await expect(opening.then((h) => h.result())).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  await soon(); await soon();
  expect(ran).toBe(false);
  expect((await bench.store.readRun({ tenant: 'default', runId: 'r' }))?.claim).toBeUndefined();
});

test.each([NaN, Infinity, -1, 1e300])('l: deadline %s', T, async (at) => {
  const { engine } = createBench();
  const graph = graphOf('p', [node('a', 'human', (ctx) => ctx.ask({ prompt: '?', deadlineAt: at }))], edges('> a', 'a >'));
  const r = await runToRest(engine, graph);
  console.log(at, r.status, r.error?.message, r.waits[0]?.dueAt);
});

test('m: keys __proto__ in merged channels survive a fork', T, async () => {
  const { engine } = createBench();
  const bad = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}},"$":"x"}');
  const graph = graphOf('p', [node('w', 'write', () => outcome({ output: bad, scratch: { m: bad, ...JSON.parse('{"__proto__":{"z":1}}') } })), node('w2', 'write', () => outcome({ scratch: { m: JSON.parse('{"__proto__":{"polluted":3}}') } }))], edges('> w', 'w > w2', 'w2 >'), { reducers: { 'scratch.m': 'merge' } });
  const r = await runToRest(engine, graph);
  console.log(r.status, r.error?.message);
  const f = await engine.fork({ runId: r.runId, seq: 0 }, { set: [{ path: ['scratch', 'other', '__proto__', 'polluted'], value: 1 }] });
  const again = await resumeToRest(engine, f.runId, graph);
  expect(({} as any).polluted).toBeUndefined();
  expect(JSON.stringify(again.state.scratch)).toContain('"m":' + JSON.stringify((r.state.scratch as any).m));
});

test('n: fork with bad seq', T, async () => {
  const { engine } = createBench();
  const graph = graphOf('p', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const r = await runToRest(engine, graph);
  for (const seq of [-1, 99, 0.5, NaN]) await expect(engine.fork({ runId: r.runId, seq }), String(seq)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
});
test('o: reconcile misbehaves after a failure', T, async () => {
  for (const reconcile of [() => undefined as never, () => { throw new Error('x'); }, () => ({ happened: true as const, output: () => 1 })]) {
    const { engine } = createBench();
    const graph = graphOf('p', [node('a', 'write', () => { throw new Error('first'); }, { retry: { attempts: 2, delayMs: 1 }, implementation: { run: () => { throw new Error('first'); }, reconcile } })], edges('> a', 'a >'));
    const r = await runToRest(engine, graph);
    expect(r.status).toBe('failed');
  }
});
