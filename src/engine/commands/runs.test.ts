/** Admission, order and the end of runs. */
import { expect, test, vi } from 'vitest';
import type { RunHandle, RunResult } from '../api.ts';
import { outcome } from '../../graph/contracts/node-contract.ts';
import { afterCrash, createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';

test('E1 a chain runs to its end', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => outcome({ output: 1, scratch: { x: 1 } })),
      node('b', 'write', (ctx) => (ctx.state.scratch['x'] as number) + 1),
    ],
    edges('> a', 'a > b', 'b >'),
  );
  const result = await runToRest(engine, graph, { topic: 't' });
  expect(result.status).toBe('completed');
  expect(result.state.outputs['b']).toBe(2);
});

test('G4 a loop runs in rounds until its exit fires', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('inc', 'pure', (ctx) =>
        outcome({ output: ctx.visit, scratch: { n: ((ctx.state.scratch['n'] as number | undefined) ?? 0) + 1 } }),
      ),
      node('check', 'pure', (ctx) => outcome({ goto: (ctx.state.scratch['n'] as number) < 5 ? 'inc' : 'out' })),
      node('out', 'pure', (ctx) => ctx.state.scratch['n']),
    ],
    edges('> inc', 'inc > check', 'check > inc', 'check > out', 'out >'),
  );
  const result = await runToRest(engine, graph);
  expect(result.state.outputs['out']).toBe(5);
});

test.each(['fail-run', 'skip-dependents', 'continue'] as const)(
  'E5.2 two unordered writes of a channel without reducer fail the run, naming both, whatever onFailure says: %s',
  async (onFailure) => {
    const { engine } = createBench();
    const writer = (id: string, x: number): ReturnType<typeof node> =>
      node(id, 'pure', () => outcome({ scratch: { x } }), { onFailure });
    const graph = graphOf(
      'g',
      [writer('a', 1), writer('b', 2), node('handler', 'pure', () => 1)],
      [...edges('> a', '> b', 'a >', 'b >', 'handler >'), { from: 'b', to: 'handler', on: 'failed' }],
    );
    const result = await runToRest(engine, graph);
    expect([result.status, result.state.scratch['x']]).toEqual(['failed', 1]);
    expect(Object.keys(result.state.outputs)).not.toContain('handler');
    expect(result.error).toMatchObject({
      code: 'STATE_WRITE_CONFLICT',
      data: { channel: 'scratch.x', nodes: ['a', 'b'] },
    });
  },
);

test('D3 inspect says that the process of a running run has died, at its newest checkpoint, and not of one that is advanced', async () => {
  const graph = graphOf(
    'g',
    [node('a', 'pure', () => 1), node('b', 'read', () => new Promise(() => {}))],
    edges('> a', 'a > b', 'b >'),
  );
  const bench = createBench({ findGraph: () => graph });
  await bench.engine.start(graph, {}, { runId: 'r' });
  const headOf = async (): Promise<number> => (await bench.store.readRun({ tenant: 'default', runId: 'r' }))?.head ?? 0;
  await expect.poll(headOf).toBeGreaterThan(0);
  const alive = await bench.engine.inspect('r');
  expect([alive.status, alive.isStopped]).toEqual(['running', undefined]);
  const other = afterCrash(bench);
  const dead = await other.inspect('r');
  expect([dead.status, dead.isStopped]).toEqual(['running', true]);
  expect((await other.inspect('r', 0)).isStopped).toBeUndefined();
});

test('E2 starting twice with one id is the same run; another input is refused', async () => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'write', (ctx) => ctx.input)], edges('> a', 'a >'));
  await runToRest(engine, graph, { n: 1 }, 'same');
  const again = await engine.start(graph, { n: 1 }, { runId: 'same' });
  expect(again.created).toBe(false);
  expect((await again.result()).status).toBe('completed');
  await expect(engine.start(graph, { n: 2 }, { runId: 'same' })).rejects.toMatchObject({ code: 'RUN_EXISTS' });
});

test('O1 a run that is resumed twice at once is taken up once, and both calls get its result', async () => {
  const bench = createBench();
  const graph = graphOf('g', [node('q', 'human', (ctx) => ctx.ask({ prompt: '?' }))], edges('> q', 'q >'));
  const { waits } = await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.answer('r', waits[0]?.waitId ?? '', 'yes');
  let claims = 0;
  const claimRun: typeof bench.store.claimRun = (request) => ((claims += 1), bench.store.claimRun(request));
  const { engine } = createBench({ ...bench.options, store: { ...bench.store, claimRun } });
  const handles = await Promise.all([engine.resume('r', { graph }), engine.resume('r', { graph })]);
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results.map(({ status }) => status)).toEqual(['completed', 'completed']);
  expect(claims).toBe(1);
});

test('E2.2 who starts a run that another process advances follows it to its end, and goes on with it if that process dies', async () => {
  const bench = createBench();
  const gates: (() => void)[] = [];
  const waits = (): Promise<string> => new Promise((resolve) => gates.push(() => resolve('done')));
  const graph = graphOf('g', [node('a', 'pure', waits)], edges('> a', 'a >'));
  let isFirstDead = false;
  const isWorkerDead = (workerId: string): boolean => isFirstDead && workerId !== 'second';
  const second = createBench({ ...bench.options, ids: { ...bench.options.ids, workerId: 'second', isWorkerDead } });
  const click = async (runId: string): Promise<readonly [RunHandle, Promise<RunResult>]> => {
    await bench.engine.start(graph, {}, { runId });
    const again = await second.engine.start(graph, {}, { runId });
    return [again, again.result()];
  };
  const [again, result] = await click('one');
  await vi.waitUntil(() => gates.length === 1, { timeout: 10_000 });
  expect(again.created).toBe(false);
  gates[0]?.();
  expect(await result).toMatchObject({ status: 'completed', state: { outputs: { a: 'done' } } });
  expect(gates).toHaveLength(1);

  const [, taken] = await click('two');
  await vi.waitUntil(() => gates.length === 2, { timeout: 10_000 });
  isFirstDead = true;
  await vi.waitUntil(() => gates.length === 3, { timeout: 10_000 });
  gates[2]?.();
  expect((await taken).status).toBe('completed');
});
