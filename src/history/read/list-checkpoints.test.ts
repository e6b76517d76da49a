/** The checkpoints of all runs, in groups of runs and in pages. */
import { beforeAll, expect, test } from 'vitest';
import { buildStore, builtGraphId, builtRunId } from '../../../test/support/built-store.ts';
import { collect } from '../../../test/support/small-graphs.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { AgentGraph, END, openHistory, START } from '../../index.ts';
import type { Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { listCheckpoints, type ListedCheckpoint, type ListMark, pageOfCheckpoints } from './list-checkpoints.ts';

const tenant = 'default';
const runs = 230;
/** What no test changes. */
const built = createMemoryStore();

beforeAll(() => buildStore(built, runs, Date.now()));

const placeOf = (store: Store) => ({
  store,
  tenant,
  blobs: createMemoryBlobs(),
  isWorkerDead: () => undefined,
  now: Date.now,
});
const place = placeOf(built);

interface Walk {
  readonly store?: Store;
  readonly limit: number;
  readonly isPaused?: boolean;
  /** Called after each page with what was listed so far. */
  readonly between?: (listed: readonly ListedCheckpoint[]) => Promise<unknown>;
}

async function allPages({
  store = built,
  limit,
  isPaused = false,
  between,
}: Walk): Promise<readonly ListedCheckpoint[]> {
  const listed: ListedCheckpoint[] = [];
  let start: ListMark | undefined;
  do {
    const page = await pageOfCheckpoints(placeOf(store), { isPaused }, { limit, ...(start && { start }) });
    listed.push(...page.checkpoints);
    // As it is kept between two calls.
    start = page.next && (JSON.parse(JSON.stringify(page.next)) as ListMark);
    await between?.(listed);
  } while (start !== undefined);
  return listed;
}

const idsOf = (listed: readonly ListedCheckpoint[]): readonly string[] =>
  listed.map(({ checkpointId }) => checkpointId);

test('S4 checkpoints are listed by groups of 100 runs, and newest first within a group', async () => {
  const listed = await collect(listCheckpoints(place));
  const groupOf = ({ runId }: ListedCheckpoint): number =>
    Math.floor((runs - 1 - Number(runId.slice('run-'.length))) / 100);
  const groups = listed.map(groupOf);
  expect(groups).toEqual(groups.toSorted((a, b) => a - b));
  expect(new Set(groups)).toEqual(new Set([0, 1, 2]));
  for (const group of [0, 1, 2]) {
    const times = listed.filter((one) => groupOf(one) === group).map(({ createdAt }) => createdAt);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
  }
  expect(new Set(listed.map(({ runId }) => runId)).size).toBe(runs);
});

test.each([33, 1_000])('S4 pages of %i hold together what the whole list holds', async (limit) => {
  const all = await collect(listCheckpoints(place));
  expect(await allPages({ limit })).toEqual(all);
});

test('S4 pages of pauses hold what the whole list holds, also where a page is not full', async () => {
  const paused = await collect(listCheckpoints(place, { isPaused: true }));
  expect(paused.length).toBeGreaterThan(5);
  expect(await allPages({ limit: 3, isPaused: true })).toEqual(paused);
  const none = await pageOfCheckpoints(place, { graphId: builtGraphId(99), isPaused: true }, { limit: 3 });
  expect(none).toEqual({ checkpoints: [] });
});

test('S4 what is admitted and removed between two pages neither repeats nor hides a checkpoint of other runs', async () => {
  const store = createMemoryStore();
  await buildStore(store, runs, Date.now());
  const history = openHistory(store);
  const graph = new AgentGraph({}, { id: builtGraphId(0) })
    .addNode('a', () => 'a')
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ store });
  const before = idsOf(await collect(history.checkpoints()));
  // The first run of a group, the last of one, and some between.
  const going = [130, 131, 129, 229, 30, 29, 100, 60];
  const removed = new Set<string>();
  const between = async (): Promise<void> => {
    await graph.invoke({});
    const index = going.shift();
    if (index === undefined) return;
    removed.add((await store.readRun({ tenant, runId: builtRunId(index) }))!.key);
    await history.remove(builtRunId(index));
  };
  const listed = await allPages({ store, limit: 30, between });
  await graph.close();
  expect(going).toEqual([]);
  const isLeft = (id: string): boolean => !removed.has(id.slice(0, id.indexOf('.')));
  expect(idsOf(listed).filter(isLeft)).toEqual(before.filter(isLeft));
});

test('S4 the list goes on behind a position, wherever its run stands', async () => {
  const all = await collect(listCheckpoints(place));
  for (const index of [0, 250, all.length - 1]) {
    const { createdAt: at, runId, seq } = all[index]!;
    expect(await collect(openHistory(built).checkpoints({ after: { at, runId, seq } }))).toEqual(all.slice(index + 1));
  }
  const unknown = openHistory(built).checkpoints({ after: { at: 0, runId: 'none', seq: 0 } });
  await expect(collect(unknown)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
});
