/** Pages of a story, read from its end, are together the whole story, and cost what is on them. */
import { expect, test } from 'vitest';
import { functionCondition } from '../../src/graph/condition.ts';
import { END, START } from '../../src/graph/graph.ts';
import type { StatePlace } from '../../src/history/access/place.ts';
import { postMortem, storyPage, type StoryPosition } from '../../src/history/explain/post-mortem.ts';
import type { StoryEntry } from '../../src/history/explain/story.ts';
import type { ResolvedReference } from '../../src/history/read/references.ts';
import { pruneRun } from '../../src/history/retention/prune.ts';
import { postMortem as operation } from '../../src/operations/runs/post-mortem.ts';
import type { Store } from '../../src/ports/store.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import { createBench, graphOf, node, rowOf, runToRest } from '../engine-kit.ts';
import { openForkTrial, tenant, type ForkTrial } from '../preview/fork-trial.ts';
import { planRandomGraph, type RandomGraphPlan } from '../random-graph/plan-random-graph.ts';
import { randomGraphCase } from '../random-graph/random-graph.ts';
import { planProperty } from '../random-graph/smaller-plan.ts';
import { scale, seeds } from '../support/scale.ts';
import { tellFaults } from '../support/smallest.ts';

const placeOf = ({ store, blobs }: Pick<StatePlace, 'store' | 'blobs'>): StatePlace => ({
  tenant,
  store,
  blobs,
  isWorkerDead: () => undefined,
  now: () => 0,
});

async function readPages(place: StatePlace, found: ResolvedReference, limit: number): Promise<readonly StoryEntry[]> {
  const entries: StoryEntry[] = [];
  let before: StoryPosition | undefined;
  do {
    const { entries: page, earlier } = await storyPage(place, found, { limit, ...(before && { before }) });
    expect(page.length).toBeLessThanOrEqual(limit);
    entries.unshift(...page);
    before = earlier;
  } while (before !== undefined);
  return entries;
}

/**
 * What is the same whether a story is read whole or in pages. Not so: a question about the budget, which comes before its visit has a record;
 * and stacks whose frames were pruned into a later checkpoint.
 */
function comparable(entry: StoryEntry, { isPruned }: { readonly isPruned: boolean }): unknown {
  if (entry.kind !== 'visit') return entry;
  const compared = { ...entry, questions: entry.questions.filter(({ name }) => name !== 'budget') };
  return JSON.parse(
    JSON.stringify(compared, (key, value: unknown) => (isPruned && key === 'stack' ? undefined : value)),
  );
}

async function faultsAt(place: StatePlace, found: ResolvedReference, limit: number): Promise<readonly string[]> {
  const { entries, ...whole } = await postMortem(place, found);
  const { entries: _, earlier: _earlier, taken, ...page } = await storyPage(place, found, { limit });
  expect(page).toEqual(whole);
  const edges = entries.flatMap((entry) =>
    entry.kind === 'visit' ? entry.edges.map(({ to }) => [entry.path, to]) : [],
  );
  const isPruned = entries.some(({ kind }) => kind === 'fold');
  // What was pruned is not told, and the record of a node has its last edges.
  if (!isPruned) for (const { path, to } of taken) expect(edges).toContainEqual([path, to]);
  const paged = await readPages(place, found, limit);
  const compare = (entry: StoryEntry): unknown => comparable(entry, { isPruned });
  try {
    expect(paged.map(compare)).toEqual(entries.map(compare));
    return [];
  } catch (error) {
    return [`${found.run.runId}@${found.seq} in pages of ${limit}: ${(error as Error).message}`];
  }
}

async function faultsOf(trial: ForkTrial, random: SeededRandom): Promise<readonly string[]> {
  const { store, blobs, engine, graph } = trial;
  if (random.chance(0.5)) await trial.driveUntilKilled('original', 1 + random.integer(25));
  await trial.drive('original', random.integer(2));
  const place = placeOf({ store, blobs });
  const original = await store.readRun({ tenant, runId: 'original' });
  if (original === undefined) return [];
  const { runId } = await engine.fork({ runId: 'original', seq: random.integer(original.head + 1) }, { graph });
  await trial.drive(runId);
  const faults: string[] = [];
  for (const name of ['original', runId]) {
    let run = (await store.readRun({ tenant, runId: name }))!;
    if (random.chance(0.3) && run.claim === undefined) {
      const { claim } = await store.claimRun({ tenant, runId: name, workerId: 'pruner', leaseMs: 1_000 });
      const options = { keepEvery: 2 + random.integer(5), keepLast: 1 + random.integer(5) };
      if (claim !== undefined) await trial.read(() => pruneRun(store, blobs, claim, run, options));
      run = (await store.readRun({ tenant, runId: name }))!;
    }
    faults.push(...(await trial.read(() => faultsAt(place, { run, seq: run.head }, 1 + random.integer(8)))));
  }
  return faults;
}

test(
  'N13 pages of the stories of random runs, killed, forked and pruned, are together the story',
  { timeout: 300_000 },
  async () => {
    const found = await tellFaults(seeds(60, 600), {
      ...planProperty,
      make: (seed): RandomGraphPlan => planRandomGraph(seed, { nodesMost: 7, recovers: true }),
      faultsOf: async (plan, seed) => {
        const trial = openForkTrial(randomGraphCase(plan), seed);
        return trial.clock.run(faultsOf(trial, createSeededRandom(seed * 7 + 1)));
      },
    });
    expect(found).toEqual([]);
  },
);

test('N13 a page of a story reads what is on it, however long the run is', async () => {
  const rowsOf = async (visits: number): Promise<number> => {
    const bench = createBench();
    let count = 0;
    const again = functionCondition(() => (count += 1) < visits, { text: 'again' });
    const loop = graphOf(
      'loop',
      [node('a', 'write', () => ({ n: count, text: 'x'.repeat(500) }), { maxVisits: 1e6 })],
      [
        { from: START, to: 'a' },
        { from: 'a', to: 'a', condition: again },
        { from: 'a', to: END },
      ],
      { policies: { routing: 'first' } },
    );
    await runToRest(bench.engine, loop, {}, 'r');
    const run = await rowOf(bench, 'r');
    let rows = 0;
    const store: Store = {
      ...bench.store,
      readCheckpoints: async (...range) => {
        const read = await bench.store.readCheckpoints(...range);
        rows += read.length;
        return read;
      },
    };
    const { entries, earlier } = await storyPage(
      placeOf({ store, blobs: bench.options.blobs }),
      { run, seq: run.head },
      { limit: 20 },
    );
    expect(entries).toHaveLength(20);
    expect(earlier).toBeDefined();
    return rows;
  };
  const [short, long] = [await rowsOf(300), await rowsOf(scale(1_500, 10_000))];
  expect(long).toBeLessThanOrEqual(1.5 * short + 20);
});

test('N13 the operation gives a page, and the one before it by what it says', async () => {
  const bench = createBench();
  const ids = ['a', 'b', 'c', 'd'];
  const chain = graphOf(
    'chain',
    ids.map((id) => node(id, 'pure', () => id)),
    [START, ...ids].map((from, index) => ({ from, to: ids[index] ?? END })),
  );
  await runToRest(bench.engine, chain, {}, 'r');
  const context = placeOf({ store: bench.store, blobs: bench.options.blobs });
  const whole = await operation.run(context, { checkpoint: 'r' });
  expect(whole).not.toHaveProperty('before');
  const last = await operation.run(context, { checkpoint: 'r', limit: 3 });
  expect(last.entries).toEqual(whole.entries.slice(-3));
  expect(last.taken).toContainEqual({ path: ['a'], to: 'b' });
  const earlier = await operation.run(context, { checkpoint: 'r', limit: 100, before: last.before! });
  expect(earlier.entries).toEqual(whole.entries.slice(0, -3));
  expect(earlier).not.toHaveProperty('before');
  const refused = { code: 'USAGE_INVALID' };
  await expect(operation.run(context, { checkpoint: 'r', limit: 3, before: 'x' })).rejects.toMatchObject(refused);
  await expect(operation.run(context, { checkpoint: 'r', before: '3' })).rejects.toMatchObject(refused);
});

test('N13 what a visit did that never ended, since what it was in ended, is told as its own, and not of the next visit there', async () => {
  const bench = createBench();
  let begun: (() => void) | undefined;
  const child = graphOf(
    'child',
    [
      node('asks', 'read', async (ctx) => {
        await ctx.step('look', { effect: 'read' }, () => 'seen');
        begun?.();
        return ctx.ask({ prompt: 'well?' });
      }),
    ],
    [
      { from: START, to: 'asks' },
      { from: 'asks', to: END },
    ],
  );
  let count = 0;
  const again = functionCondition(() => (count += 1) < 2, { text: 'again' });
  const graph = graphOf(
    'loop',
    [
      node(
        'parent',
        'read',
        async (ctx) => {
          const isBegun = new Promise<void>((resolve) => (begun = resolve));
          void ctx.run(child, {}).catch(() => undefined);
          await isBegun;
          return 'enough';
        },
        { subgraph: child, maxVisits: 2 },
      ),
    ],
    [
      { from: START, to: 'parent' },
      { from: 'parent', to: 'parent', condition: again },
      { from: 'parent', to: END },
    ],
    { policies: { routing: 'first' } },
  );
  await runToRest(bench.engine, graph, {}, 'r');
  const run = await rowOf(bench, 'r');
  const place = placeOf({ store: bench.store, blobs: bench.options.blobs });
  const { entries } = await postMortem(place, { run, seq: run.head });
  const visits = entries.flatMap((entry) =>
    entry.kind === 'visit' ? [[entry.path.join('/'), entry.isUnfinished ?? false, entry.steps.length]] : [],
  );
  expect(visits).toEqual([
    ['parent/run/asks', true, 1],
    ['parent', false, expect.any(Number)],
    ['parent/run/asks', true, 1],
    ['parent', false, expect.any(Number)],
  ]);
  expect(await readPages(place, { run, seq: run.head }, 2)).toEqual(entries);
});
