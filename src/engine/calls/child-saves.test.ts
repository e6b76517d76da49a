/** `ctx.save` beside child runs: those whose end the function was not told of are kept, under their names (X4.6, W6). */
import { expect, test, vi } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
} from '../../../test/engine-kit.ts';
import { loadState } from '../../history/load/load.ts';

const parent = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('p', 'read', run)], edges('> p', 'p >'));
const settles = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A child that sends under its idempotency key, then waits for `go`, and sends once more. */
function sending(sent: string[]): Graph {
  const send = (id: string): ReturnType<typeof node> =>
    node(id, 'write', (ctx) => void sent.push(`${String(ctx.input)} ${id} ${ctx.idempotencyKey}`));
  return graphOf(
    'child',
    [send('before'), node('waits', 'read', (ctx) => ctx.receive('go')), send('after')],
    edges('> before', 'before > waits', 'waits > after', 'after >'),
  );
}

test('X4.6 a child that runs goes on over saves and crashes, under its name and its keys; one that ended is retired', async () => {
  const bench = createBench();
  const sent: string[] = [];
  const child = sending(sent);
  const graph = parent(async (ctx) => {
    if (ctx.savedState === undefined) {
      await ctx.start(child, 'kept', { name: 'a' });
      await ctx.run(graphOf('quick', [node('q', 'pure', () => 1)], edges('> q', 'q >')), {}, { name: 'b' });
      await ctx.save('one');
      await ctx.save('two');
    }
    const again = await ctx.start(child, 'other', { name: 'a' });
    await ctx.ask({ prompt: '?' });
    await again.signal('go');
    return [(await again.result()).state.input, ctx.savedState];
  });
  const { runId, waits } = await runToRest(bench.engine, graph);
  const { root } = await loadState(bench.store, bench.options.blobs, await rowOf(bench, runId));
  expect(Object.keys(root.frame.nodes['p']?.children ?? {})).toEqual(['a']);
  const engine = afterCrash(bench);
  const question = waits.find(({ kind }) => kind === 'question');
  await engine.answer(runId, question?.waitId ?? '', 'yes');
  const result = await resumeToRest(engine, runId, graph);
  expect(result.state.outputs['p']).toEqual(['kept', 'two']);
  expect(sent.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual(['kept before', 'kept after']);
});

test('X4.6 a kept child has the keys that it would have had without the save', async () => {
  const keysOf = async (saves: number): Promise<readonly string[]> => {
    const sent: string[] = [];
    const bench = createBench();
    const child = sending(sent);
    const graph = parent(async (ctx) => {
      const handle = await ctx.start(child, 'x', { name: 'a' });
      if (ctx.savedState === undefined) for (let count = 0; count < saves; count += 1) await ctx.save(count);
      await ctx.ask({ prompt: '?' });
      await handle.signal('go');
      await handle.result();
    });
    const { runId, waits } = await runToRest(bench.engine, graph, {}, 'same');
    const engine = afterCrash(bench);
    await engine.answer(runId, waits.find(({ kind }) => kind === 'question')?.waitId ?? '', 'yes');
    expect((await resumeToRest(engine, runId, graph)).status).toBe('completed');
    return sent;
  };
  const plain = await keysOf(0);
  expect(plain).toHaveLength(2);
  expect(await keysOf(2)).toEqual(plain);
});

test('X4.6 kept children of one name are taken up in the order in which they began; a further call begins a new one', async () => {
  const bench = createBench();
  const child = graphOf(
    'child',
    [node('c', 'read', async (ctx) => (await ctx.receive('go'), ctx.input))],
    edges('> c', 'c >'),
  );
  const graph = parent(async (ctx) => {
    if (ctx.savedState === undefined) {
      const [first] = [await ctx.start(child, 1), await ctx.start(child, 2), await ctx.start(child, 3)];
      await first?.signal('go');
      await first?.result();
      await ctx.save('kept two');
    }
    const handles = [await ctx.start(child, 4), await ctx.start(child, 5), await ctx.start(child, 6)];
    await ctx.ask({ prompt: '?' });
    for (const handle of handles) await handle.signal('go');
    const results = await Promise.all(handles.map((handle) => handle.result()));
    return results.map(({ state }) => state.outputs['c']);
  });
  const { runId, waits } = await runToRest(bench.engine, graph);
  const engine = afterCrash(bench);
  await engine.answer(runId, waits.find(({ kind }) => kind === 'question')?.waitId ?? '', 'yes');
  expect((await resumeToRest(engine, runId, graph)).state.outputs['p']).toEqual([2, 3, 6]);
});

test('X4.6 a child that ended unheard is kept too, and gives its end after a crash', async () => {
  const bench = createBench();
  let ran = 0;
  const quick = graphOf('child', [node('c', 'write', () => (ran += 1))], edges('> c', 'c >'));
  const graph = parent(async (ctx) => {
    const child = await ctx.start(quick, {}, { name: 'a' });
    if (ctx.savedState === undefined) {
      for (let steps = 0; steps < 10; steps += 1) await ctx.step(`s${steps}`, { effect: 'write' }, settles);
      await ctx.save('ended by now');
    }
    await ctx.ask({ prompt: '?' });
    return (await child.result()).state.outputs['c'];
  });
  const { runId, waits } = await runToRest(bench.engine, graph);
  expect(ran).toBe(1);
  const engine = afterCrash(bench);
  await engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(engine, runId, graph)).state.outputs['p']).toBe(1);
  expect(ran).toBe(1);
});

test('X4.6 calls of a kept child after a save are not those before it', async () => {
  const bench = createBench();
  const child = graphOf(
    'child',
    [node('c', 'read', async (ctx) => [await ctx.receive('go'), await ctx.receive('go')])],
    edges('> c', 'c >'),
  );
  const graph = parent(async (ctx) => {
    const handle = await ctx.start(child, {}, { name: 'a' });
    if (ctx.savedState === undefined) {
      await handle.signal('go', 'before');
      await ctx.save('one');
    }
    await handle.signal('go', 'after');
    return (await handle.result()).state.outputs['c'];
  });
  expect((await runToRest(bench.engine, graph)).state.outputs['p']).toEqual(['before', 'after']);
});

test('X4.6 a save is refused while a step or a wait is open, whatever runs beside it', async () => {
  const child = graphOf('child', [node('c', 'read', (ctx) => ctx.receive('go'))], edges('> c', 'c >'));
  const graph = parent(async (ctx) => {
    await ctx.start(child, {});
    void ctx.receive('never');
    await ctx.save('x');
  });
  expect((await runToRest(createBench().engine, graph)).error?.cause).toMatchObject({ code: 'NODE_CALL_REFUSED' });
});

test('W6.12 child runs that are over are not looked through for each one that begins', async () => {
  const bench = createBench();
  const child = graphOf('child', [node('c', 'pure', () => 1)], edges('> c', 'c >'));
  const looks: number[] = [];
  const graph = parent(async (ctx) => {
    const entries = vi.spyOn(Object, 'entries');
    for (let name = 0; name < 100; name += 1) await ctx.run(child, {}, { name: String(name) });
    looks.push(...entries.mock.calls.map(([table]) => Object.keys(table).length).filter((size) => size > 50));
    entries.mockRestore();
  });
  expect((await runToRest(bench.engine, graph)).status).toBe('completed');
  expect(looks).toEqual([]);
});
