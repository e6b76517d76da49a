/** Counters in the text form of Prometheus. */
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { createBench, edges, graphOf, node } from '../../../test/engine-kit.ts';
import { createMetrics } from './metrics.ts';
import { engineSeries, processSeries, storeSeries } from './series.ts';
import { readStoreGauges } from './store-gauges.ts';
import { readSamples } from '../../../test/support/prometheus-text.ts';

test('E10.9 counters and distributions are told in the text form of Prometheus, in seconds, with a head for each series', async () => {
  const metrics = createMetrics();
  const of = { 'cairn.graph.id': 'g', 'cairn.status': 'completed' };
  metrics.count('cairn.attempts', 1, of);
  metrics.count('cairn.attempts', 2, { ...of });
  metrics.count('cairn.attempts', 1, { ...of, 'cairn.status': 'failed' });
  for (const ms of [0.5, 3, 3, 20_000]) metrics.measure('cairn.checkpoint.save', ms, { 'cairn.graph.id': 'g' });
  metrics.count('of.another', 1, of);
  const text = await metrics.text();
  const samples = readSamples(text);
  expect(samples.get('cairn_attempts_total{graph="g",status="completed"}')).toBe(3);
  expect(samples.get('cairn_attempts_total{graph="g",status="failed"}')).toBe(1);
  const bucket = (le: string): number | undefined =>
    samples.get(`cairn_checkpoint_save_seconds_bucket{graph="g",le="${le}"}`);
  expect(['0.001', '0.0025', '0.005', '10', '+Inf'].map(bucket)).toEqual([1, 1, 3, 3, 4]);
  expect(samples.get('cairn_checkpoint_save_seconds_count{graph="g"}')).toBe(4);
  expect(samples.get('cairn_checkpoint_save_seconds_sum{graph="g"}')).toBeCloseTo(20.0065);
  expect(text).not.toContain('of.another');
  for (const name of Object.keys(processSeries).filter((each) => each !== 'cairn_runs_held'))
    expect(text).toContain(`# TYPE ${name} `);
  for (const { name, kind } of Object.values(engineSeries)) expect(text).toContain(`# TYPE ${name} ${kind}\n`);
});

test('E10.9 names of graphs are escaped, and there are at most 1,000 sets of labels of a series', async () => {
  const metrics = createMetrics();
  metrics.count('cairn.claims', 1, { 'cairn.graph.id': 'a "b"\\\nc' });
  expect(await metrics.text()).toContain(String.raw`cairn_claims_total{graph="a \"b\"\\\nc"} 1`);
  for (let n = 0; n < 1_500; n += 1) metrics.count('cairn.claims', 1, { 'cairn.graph.id': `g${n}` });
  const samples = readSamples(await metrics.text());
  expect([...samples.keys()].filter((name) => name.startsWith('cairn_claims_total'))).toHaveLength(1_001);
  expect(samples.get('cairn_claims_total{graph="other"}')).toBe(501);
});

test('E10.9 gauges of the store count what is open, the backlog what is due, answered or abandoned; a store that is away is told as such', async () => {
  const store = createMemoryStore();
  const { engine } = createBench({ store });
  const place = { store, tenant: 'default', isWorkerDead: () => undefined, now: Date.now };
  const asks = graphOf('g', [node('ask', 'human', (ctx) => ctx.receive('go'))], edges('> ask', 'ask >'));
  const sleeps = graphOf(
    's',
    [node('sleep', 'human', (ctx) => ctx.sleepUntil(Date.now() + 3_600_000))],
    edges('> sleep', 'sleep >'),
  );
  const ends = graphOf('e', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  for (const runId of ['asked', 'signalled']) await (await engine.start(asks, {}, { runId })).result();
  await (await engine.start(ends, {}, { runId: 'over' })).result();
  await engine.start(ends, {}, { runId: 'queued', detach: true });
  await (await engine.start(sleeps, {}, { runId: 'slept' })).result();
  await engine.signal('signalled', 'go', 1, { stays: true });
  const samples = async (at: number): Promise<ReadonlyMap<string, number>> => {
    const metrics = createMetrics();
    metrics.addGauges(() => readStoreGauges({ ...place, now: () => at }));
    return readSamples(await metrics.text());
  };
  const [now, later] = [await samples(Date.now()), await samples(Date.now() + 7_200_000)];
  expect(Object.fromEntries([...now].filter(([name]) => name.startsWith('cairn_')))).toMatchObject({
    cairn_store_up: 1,
    'cairn_runs_open{status="running"}': 1,
    'cairn_runs_open{status="cancelling"}': 0,
    'cairn_runs_open{status="paused"}': 3,
    cairn_waits_open: 3,
    cairn_waits_overdue: 0,
    cairn_backlog_runs: 2,
    cairn_workers: 0,
  });
  // Two hours later the sleeper is due as well.
  expect(later.get('cairn_backlog_runs')).toBe(3);
  expect(later.get('cairn_backlog_age_seconds')).toBeGreaterThan(7_000);
  const told = [...later.keys()].map((name) => name.replace(/\{.*/u, ''));
  expect(Object.keys(storeSeries).filter((name) => !told.includes(name))).toEqual(['cairn_store_bytes']);
  await engine.close();
  await store.close();
  expect(await readStoreGauges(place)).toEqual({ cairn_store_up: [{ value: 0 }] });
});
