import { expect, test } from 'vitest';
import { createEngine } from './engine.ts';
import { createWorker } from './worker.ts';
import { createBench, edges, graphOf, node, runToRest, testIds } from '../../test/engine-kit.ts';

test('W5 a worker takes up answered and due runs of other processes', async () => {
  const bench = createBench();
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
      node('nap', 'read', async (ctx) => ctx.sleepUntil(1_700_000_000_000 + 60_000)),
    ],
    edges('> ask', 'ask > nap', 'nap >'),
  );
  const paused = await runToRest(bench.engine, graph);
  const engine = createEngine({ ...bench.options, ids: testIds('worker-2'), findGraph: () => graph });
  const faults: unknown[] = [];
  const worker = createWorker({
    engine,
    store: bench.store,
    clock: { ...bench.clock, setTimer: () => () => {} },
    onError: (_, error) => faults.push(error),
  });
  expect(await worker.look()).toBe(0);
  await bench.engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  expect(await worker.look()).toBe(1);
  await expect.poll(async () => (await engine.inspect(paused.runId)).status).toBe('paused');
  bench.clock.timeMs += 61_000;
  const late = createWorker({
    engine,
    store: bench.store,
    clock: { ...bench.clock, now: () => bench.clock.timeMs, setTimer: () => () => {} },
  });
  await late.look();
  await expect.poll(async () => (await engine.inspect(paused.runId)).status).toBe('completed');
  await worker.stop();
  await late.stop();
  expect(faults).toEqual([]);
});
