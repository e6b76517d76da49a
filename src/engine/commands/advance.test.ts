/** `engine.advance`: a run goes on for a slice of time, called by a host that keeps no process for it. */
import { expect, test } from 'vitest';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  graphOf,
  node,
  testIds,
  type Bench,
} from '../../../test/engine-kit.ts';
import type { Graph } from '../../graph/graph.ts';
import type { AdvanceResult, Engine } from '../api.ts';
import { createEngine } from '../engine.ts';

const admitted = async (bench: Bench, graph: Graph, more = {}): Promise<string> => {
  bench.engine.know(graph);
  return (await bench.engine.start(graph, {}, { detach: true, ...more })).runId;
};

/** Another process on the same store; whether the first is dead is not known to it. */
const otherEngine = (bench: Bench, graph: Graph, workerId: string): Engine => {
  const engine = createEngine({ ...bench.options, ids: testIds(workerId) });
  engine.know(graph);
  return engine;
};

/** Advances a run until it neither runs nor is due, and says where it stood after each slice. */
async function advanceToRest(engine: Engine, runId: string, forMs: number): Promise<readonly AdvanceResult[]> {
  const results: AdvanceResult[] = [];
  for (let slice = 0; slice < 100; slice += 1) {
    const result = await engine.advance(runId, { forMs });
    results.push(result);
    if (result.status !== 'running') return results;
  }
  throw new Error('the run does not rest');
}

test('HO1 after its time nothing new starts, what runs is recorded, and the run is given back as running', async () => {
  const bench = createBench();
  const began: string[] = [];
  const slow = (id: string) =>
    node(id, 'write', async () => {
      began.push(id);
      await bench.clock.sleep(300);
      return id;
    });
  const graph = graphOf('line', [slow('a'), slow('b'), slow('c')], edges('> a', 'a > b', 'b > c', 'c >'));
  const runId = await admitted(bench, graph);
  expect(await bench.engine.advance(runId, { forMs: 100 })).toEqual({ status: 'running' });
  expect(began).toEqual(['a']);
  const row = await bench.store.readRun({ tenant: 'default', runId });
  expect(row).toMatchObject({ status: 'running' });
  expect(row?.claim).toBeUndefined();
  expect((await advanceToRest(bench.engine, runId, 100)).map(({ status }) => status)).toEqual(['running', 'completed']);
  expect(began).toEqual(['a', 'b', 'c']);
  expect((await changesOf(bench.engine, runId)).join()).not.toContain('pause');
});

test('HO1 a function of twenty steps goes from process to process, and each step runs once', async () => {
  const bench = createBench();
  const ran: string[] = [];
  const graph = graphOf(
    'steps',
    [
      node('all', 'read', async (ctx) => {
        for (let index = 0; index < 20; index += 1)
          await ctx.step(`s${index}`, { effect: index % 2 === 0 ? 'external' : 'pure' }, async () => {
            ran.push(`s${index}`);
            await bench.clock.sleep(30);
            return index;
          });
        return 'done';
      }),
    ],
    edges('> all', 'all >'),
  );
  const runId = await admitted(bench, graph);
  const statuses: string[] = [];
  for (let slice = 0; slice < 40 && statuses.at(-1) !== 'completed'; slice += 1)
    statuses.push((await otherEngine(bench, graph, `worker ${slice}`).advance(runId, { forMs: 100 })).status);
  expect(statuses.at(-1)).toBe('completed');
  expect(statuses.length).toBeGreaterThan(4);
  expect(ran).toEqual(Array.from({ length: 20 }, (_, index) => `s${index}`));
});

test('HO1 children and overlapping steps are left where they are and go on in the next slice', async () => {
  const bench = createBench();
  const ran: string[] = [];
  const work = (name: string) => async () => {
    ran.push(name);
    await bench.clock.sleep(80);
    return name;
  };
  const child = graphOf(
    'child',
    [node('one', 'write', work('one')), node('two', 'write', work('two'))],
    edges('> one', 'one > two', 'two >'),
  );
  const graph = graphOf(
    'parent',
    [
      node('both', 'read', async (ctx) => {
        const steps = async (): Promise<void> => {
          for (const name of ['x', 'y', 'z']) await ctx.step(name, { effect: 'write' }, work(name));
        };
        await Promise.all([steps(), ctx.run(child, {})]);
      }),
    ],
    edges('> both', 'both >'),
  );
  const runId = await admitted(bench, graph);
  const results = await advanceToRest(bench.engine, runId, 50);
  expect(results.at(-1)).toEqual({ status: 'completed' });
  expect(results.length).toBeGreaterThan(2);
  expect([...ran].sort()).toEqual(['one', 'two', 'x', 'y', 'z']);
});

test('HO2 a signal gives the run back at once, and its effect is in doubt as after closing', async () => {
  const bench = createBench({ bounds: { effectMs: 1_000 } });
  const controller = new AbortController();
  const graph = graphOf(
    'long',
    [node('pay', 'external', async () => new Promise(() => queueMicrotask(() => controller.abort())))],
    edges('> pay', 'pay >'),
  );
  const runId = await admitted(bench, graph);
  expect(await bench.engine.advance(runId, { forMs: 10_000, signal: controller.signal })).toEqual({
    status: 'running',
  });
  const other = otherEngine(bench, graph, 'worker-2');
  expect(await other.advance(runId, { forMs: 10_000 })).toMatchObject({ status: 'held', by: 'worker-1' });
  await bench.clock.sleep(17_000);
  expect(await other.advance(runId, { forMs: 10_000 })).toEqual({ status: 'paused', asks: true });
  expect(await bench.engine.waits(runId)).toMatchObject([{ kind: 'doubt' }]);
});

test('HO3 no timer and no retry is waited for; the first due time is told', async () => {
  const bench = createBench();
  let tries = 0;
  const graph = graphOf(
    'timed',
    [
      node(
        'try',
        'read',
        () => {
          tries += 1;
          if (tries < 3) throw new Error('not yet');
          return 'done';
        },
        { retry: { attempts: 3, delayMs: 5, backoff: 'fixed' } },
      ),
      node('rest', 'read', async (ctx) => {
        await ctx.sleepUntil(ctx.now() + 50);
        return ctx.ask({ prompt: 'Go on?' });
      }),
    ],
    edges('> try', 'try > rest', 'rest >'),
  );
  const runId = await admitted(bench, graph);
  const advance = (): Promise<AdvanceResult> => bench.engine.advance(runId, { forMs: 1_000 });
  for (const due of [5, 5, 50]) {
    const before = bench.clock.now();
    const result = await advance();
    expect(result).toEqual({ status: 'paused', dueAt: before + due, asks: false });
    expect(bench.clock.now()).toBe(before);
    expect(await advance()).toEqual(result);
    await bench.clock.sleep(due);
  }
  expect(await advance()).toEqual({ status: 'paused', asks: true });
  const [wait] = await bench.engine.waits(runId);
  await bench.engine.answer(runId, wait?.waitId ?? '', 'yes');
  expect(await advance()).toEqual({ status: 'completed' });
  expect(tries).toBe(3);
});

test('HO4 calls in one process join, another process is told who has the run, and a run that has ended is left alone', async () => {
  const bench = createBench();
  let began = 0;
  const work = node('work', 'write', async () => {
    began += 1;
    await bench.clock.sleep(200);
  });
  const graph = graphOf('one', [work], edges('> work', 'work >'));
  const runId = await admitted(bench, graph);
  const first = bench.engine.advance(runId, { forMs: 1_000 });
  const second = bench.engine.advance(runId, { forMs: 1_000 });
  await bench.clock.sleep(100);
  expect(await otherEngine(bench, graph, 'worker-2').advance(runId, { forMs: 50 })).toMatchObject({
    status: 'held',
    by: 'worker-1',
  });
  expect(await Promise.all([first, second])).toEqual([{ status: 'completed' }, { status: 'completed' }]);
  const head = (await bench.store.readRun({ tenant: 'default', runId }))?.head;
  expect(await bench.engine.advance(runId, { forMs: 50 })).toEqual({ status: 'completed' });
  expect((await bench.store.readRun({ tenant: 'default', runId }))?.head).toBe(head);
  expect(began).toBe(1);
});

test('HO4 a run that a program follows here goes on when a host asks for it too', async () => {
  const bench = createBench();
  const work = (id: string) => node(id, 'write', () => bench.clock.sleep(200));
  const graph = graphOf('two', [work('a'), work('b')], edges('> a', 'a > b', 'b >'));
  const handle = await bench.engine.start(graph, {});
  expect(await bench.engine.advance(handle.runId, { forMs: 50 })).toMatchObject({ status: 'held', by: 'worker-1' });
  expect(await handle.result()).toMatchObject({ status: 'completed' });
});

test('HO5 a failed run is not tried again, a cancelled one not resumed, and a planned one not begun early', async () => {
  const bench = createBench();
  let tries = 0;
  const graph = graphOf(
    'failing',
    [
      node('fail', 'pure', () => {
        tries += 1;
        throw new Error('no');
      }),
    ],
    edges('> fail', 'fail >'),
  );
  const failed = await admitted(bench, graph);
  for (let again = 0; again < 2; again += 1)
    expect(await bench.engine.advance(failed, { forMs: 50 })).toEqual({ status: 'failed' });
  const cancelled = await admitted(bench, graph);
  await bench.engine.cancel(cancelled);
  expect(await bench.engine.advance(cancelled, { forMs: 50 })).toEqual({ status: 'cancelled' });
  const dueAt = bench.clock.now() + 5_000;
  const planned = await admitted(bench, graph, { schedule: { dueAt } });
  expect(await bench.engine.advance(planned, { forMs: 50 })).toEqual({ status: 'paused', dueAt, asks: false });
  expect(tries).toBe(1);
});

test('HO6 what can go on and is not claimed is listed for the sweep, and nothing is claimed by that', async () => {
  const bench = createBench();
  const graph = graphOf('one', [node('work', 'pure', () => 1)], edges('> work', 'work >'));
  const runs = [await admitted(bench, graph), await admitted(bench, graph)];
  expect(await bench.engine.listClaimable({ limit: 10 })).toEqual(runs);
  await bench.engine.advance(runs[0] as string, { forMs: 50 });
  expect(await bench.engine.listClaimable({ limit: 10 })).toEqual([runs[1]]);
  expect(await bench.engine.listClaimable({ limit: 10, graphs: ['other'] })).toEqual([]);
});

test('HO4 a run whose process died in a slice is taken over when that is known', async () => {
  const bench = createBench();
  const graph = graphOf('one', [node('work', 'pure', () => new Promise(() => {}))], edges('> work', 'work >'));
  const runId = await admitted(bench, graph);
  void bench.engine.advance(runId, { forMs: 1e9 }).catch(() => {});
  await bench.clock.sleep(10);
  const after = afterCrash(bench);
  const quick = graphOf('one', [node('work', 'pure', () => 1)], edges('> work', 'work >'));
  after.know(quick);
  expect(await after.advance(runId, { forMs: 50 })).toEqual({ status: 'completed' });
});
