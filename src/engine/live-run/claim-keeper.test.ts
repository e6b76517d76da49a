/** Workers whose clocks are wrong: what is due is judged by the store's clock, so nothing fires early or late (O2). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, testIds } from '../../../test/engine-kit.ts';
import type { Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { createVirtualClock } from '../../ports/virtual-clock.ts';
import type { Engine } from '../api.ts';
import { createEngine } from '../engine.ts';
import { createEngineWorker } from '../worker.ts';
import { createStoreClock } from './store-clock.ts';

const [minute, hour] = [60_000, 3_600_000];
const graph = graphOf(
  'nap',
  [node('nap', 'read', (ctx) => ctx.sleepUntil(ctx.now() + 30 * minute))],
  edges('> nap', 'nap >'),
);

test.each([
  [hour, -hour],
  [-hour, hour],
  [hour, hour],
])(
  'O2 a timer of half an hour, set by a worker %d ms ahead and fired by one %d ms ahead, takes half an hour',
  async (setterMs, firerMs) => {
    const clock = createVirtualClock();
    const memory = createMemoryStore({ now: clock.now });
    const store: Store = { ...memory, readTime: () => Promise.resolve(clock.now()) };
    const { options } = createBench({ store, clock, bounds: { holdTimersMs: 0 } });
    const engineAt = (aheadMs: number, name: string): Engine =>
      createEngine({
        ...options,
        ids: testIds(name),
        clock: { ...clock, now: () => clock.now() + aheadMs },
        findGraph: () => graph,
      });
    const [setter, firer] = [engineAt(setterMs, 'setter'), engineAt(firerMs, 'firer')];
    const handle = await setter.start(graph, {}, { runId: 'r' });
    await clock.run(handle.result());
    const startedAt = clock.now();
    const worker = createEngineWorker({ engine: firer });
    const statusOf = async (): Promise<unknown> => (await store.readRun({ tenant: 'default', runId: 'r' }))?.status;
    await clock.advance(30 * minute - 2_000);
    expect(await statusOf()).toBe('paused');
    await clock.advance(4_000);
    expect([await statusOf(), clock.now() - startedAt]).toEqual(['completed', 30 * minute + 2_000]);
    const stopped = worker.stop();
    await clock.run(stopped);
  },
);

test('O2 a difference that is no larger than the time of its reading counts as none, and one reading serves all', async () => {
  const clock = createVirtualClock();
  let [readings, aheadMs] = [0, 40];
  const readTime = (): Promise<number> =>
    new Promise((resolve) => {
      readings += 1;
      const time = clock.now() + aheadMs;
      clock.setTimer(50, () => resolve(time));
    });
  const corrected = createStoreClock(clock, { ...createMemoryStore(), readTime });
  const ready = [corrected.ready() ?? Promise.resolve(), corrected.ready() ?? Promise.resolve()];
  await clock.advance(50);
  await Promise.all(ready);
  expect([readings, corrected.now() - clock.now(), corrected.ready()]).toEqual([1, 0, undefined]);
  aheadMs = hour;
  const again = corrected.sync();
  await clock.advance(50);
  await again;
  expect(corrected.now() - clock.now()).toBe(hour - 25);
});
