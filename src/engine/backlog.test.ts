/** What a worker tells telemetry of the runs that wait for one. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node } from '../../test/engine-kit.ts';
import { recordTelemetry } from '../../test/support/recorded-telemetry.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { createVirtualClock } from '../ports/virtual-clock.ts';
import { createEngine } from './engine.ts';

test('E10.1 a worker tells how many runs are ready for it, and for how long the oldest has been', async () => {
  const clock = createVirtualClock({ isAutomatic: false });
  const bench = createBench({ clock, store: createMemoryStore({ now: clock.now }) });
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const measured: Record<string, number> = {};
  const { telemetry } = recordTelemetry({ measure: (name, value) => void (measured[name] = value) });
  const engine = createEngine({ ...bench.options, telemetry });
  const about = { startedAt: 0, concurrency: 1, runs: [] };
  await engine.tellAlive(about);
  expect(measured).toMatchObject({ 'cairn.backlog': 0, 'cairn.backlog.age': 0 });
  await engine.start(graph, {}, { detach: true });
  await engine.start(graph, {}, { detach: true });
  await clock.advance(5_000);
  await engine.tellAlive(about);
  expect(measured).toMatchObject({ 'cairn.backlog': 2, 'cairn.backlog.age': 5_000 });
  await engine.tellAlive({ ...about, only: ['other'] });
  expect(measured).toMatchObject({ 'cairn.backlog': 0 });
  await engine.close();
});
