/** How long the runs of an experiment stay, and those that it is of. */
import { expect, test } from 'vitest';
import { collect } from '../../test/support/small-graphs.ts';
import { createBench, edges, graphOf, node, runToRest, testIds, type Bench } from '../../test/engine-kit.ts';
import { applyRetention } from '../history/retention/apply-retention.ts';
import { removeRun } from '../history/retention/remove-run.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { experiment } from './index.ts';

const dayMs = 86_400_000;
const desk = graphOf('desk', [node('a', 'pure', () => 1)], edges('> a', 'a >'));

/** A store with a run, and an experiment of it. */
async function compared(keep: boolean): Promise<Bench> {
  const bench = createBench();
  const own = createBench({ clock: bench.clock, store: createMemoryStore({ now: bench.clock.now }) });
  await runToRest(own.engine, desk, {}, 'r');
  const app = { graph: desk, engine: own.engine };
  await experiment(app, { name: 'e', dataset: { runs: ['r'] }, arms: { same: {} }, keep });
  return own;
}

const placeOf = ({ store, options, clock }: Bench) => ({
  store,
  tenant: 'default',
  blobs: options.blobs,
  ids: testIds(),
  isWorkerDead: () => undefined,
  now: clock.now,
});

/** Ids of the runs that retention leaves when a day is long enough for everything. */
async function cleaned(bench: Bench): Promise<readonly string[]> {
  await collect(applyRetention(placeOf(bench), { completed: '1d' }, {}));
  return (await bench.store.listRuns({ tenant: 'default' })).rows.map(({ runId }) => runId).sort();
}

const all = [
  'cairn:experiment:e',
  expect.stringMatching(/^cairn:experiment:e:baseline/),
  expect.stringMatching(/:same/),
  'r',
];

test('EX5 the runs of an experiment stay for 30 days, and those that it is of', async () => {
  const bench = await compared(false);
  await bench.clock.advance(20 * dayMs);
  expect(await cleaned(bench)).toEqual(all);
  await bench.clock.advance(20 * dayMs);
  await cleaned(bench);
  expect(await cleaned(bench)).toEqual([]);
});

test('EX5 with keep they stay until the experiment is removed', async () => {
  const bench = await compared(true);
  await bench.clock.advance(400 * dayMs);
  expect(await cleaned(bench)).toEqual(all);
  await removeRun(placeOf(bench), 'cairn:experiment:e', { withForks: true, forget: true });
  expect(await cleaned(bench)).toEqual([]);
});
