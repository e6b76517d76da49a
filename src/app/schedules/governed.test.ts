/** Schedules that are governed: overlap, pauses, triggers, backfills, jitter, ends and updates (W7.8–W7.12). */
import { expect, test } from 'vitest';
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import { END, START } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { loadState } from '../../history/load/load.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { createVirtualClock, type VirtualClock } from '../../ports/virtual-clock.ts';
import { createBench, edges, graphOf, node, testIds, type Bench } from '../../../test/engine-kit.ts';
import { until } from '../../../test/support/awaited.ts';
import type { ScheduleOptions } from './keep-schedule.ts';
import { schedule, type ScheduledGraph } from './schedule.ts';
import type { ScheduleStanding } from './schedule-run.ts';

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 10, 22, 12, 30);
const due = (hour: number, day = 22): string => `cairn:due:hourly:202611${day}T${String(hour).padStart(2, '0')}0000Z`;

/** Runs that wait until they are told to go on. */
const report = graphOf('report', [node('write', 'read', (ctx) => ctx.receive('go'))], edges('> write', 'write >'));

interface House extends Bench {
  readonly clock: VirtualClock;
  readonly hourly: ScheduledGraph;
  /** Lets a run end. */
  readonly end: (runId: string) => Promise<void>;
  /** Advances the clock, and waits until the schedule has met what came and sleeps again. */
  readonly pass: (byMs: number) => Promise<void>;
  readonly standing: () => Promise<ScheduleStanding>;
  /** Runs and their statuses, oldest first. */
  readonly runs: () => Promise<readonly string[]>;
}

async function house(
  options: Partial<ScheduleOptions> = {},
  more: { readonly clock?: VirtualClock; readonly store?: Bench['store']; readonly workerId?: string } = {},
): Promise<House> {
  const clock = more.clock ?? createVirtualClock({ startMs });
  const store = more.store ?? createMemoryStore({ now: clock.now });
  const bench = createBench({ clock, store, wakes: true, ids: testIds(more.workerId ?? 'worker-1') });
  bench.engine.know(report);
  const hourly = schedule({ graph: report, engine: bench.engine }, { cron: '0 * * * *', name: 'hourly', ...options });
  const { engine } = bench;
  const { runId } = await hourly.start();
  const rests = (): Promise<unknown> =>
    until('the schedule sleeps', async () => {
      const run = await store.readRun({ tenant: 'default', runId });
      const { rows } = await store.listWaits({ tenant: 'default', runId });
      const dueAt = rows[0]?.dueAt ?? Infinity;
      const isOver = run?.status === 'completed' || run?.status === 'cancelled';
      // It stays for a time that is near.
      if (dueAt <= clock.now()) await clock.advance(1);
      return isOver || (run?.hasMessages === false && dueAt > clock.now() && dueAt < Infinity);
    });
  await rests();
  return {
    ...bench,
    clock,
    hourly,
    end: async (id) => {
      await engine.signal(id, 'go', 1);
      await until('it ends', async () => (await engine.inspect(id)).status === 'completed');
    },
    pass: async (byMs) => {
      await clock.advance(byMs);
      await rests();
    },
    standing: () => standingIn(bench, runId),
    runs: async () => {
      const { rows } = await store.listRuns({ tenant: 'default', graphId: 'report', limit: 100 });
      return rows.map((row) => `${row.runId} ${row.status}`).toReversed();
    },
  };
}

async function standingIn({ store, options: { blobs } }: Bench, runId: string): Promise<ScheduleStanding> {
  const run = await store.readRun({ tenant: 'default', runId });
  if (run === undefined) throw new Error('there is no schedule');
  const { root } = await loadState(store, blobs, run);
  return root.frame.nodes['schedule']?.saved as ScheduleStanding;
}

test('W7.8 by default a time is left out while a run of the schedule goes on, and the schedule says so', async () => {
  const bench = await house();
  await bench.pass(hourMs);
  await bench.pass(hourMs);
  expect(await bench.runs()).toEqual([`${due(13)} paused`]);
  expect(await bench.standing()).toMatchObject({
    started: [],
    skipped: { times: [Date.UTC(2026, 10, 22, 14)], because: 'overlap' },
  });
  await bench.end(due(13));
  await bench.pass(hourMs);
  expect(await bench.runs()).toEqual([`${due(13)} completed`, `${due(15)} paused`]);
});

test('W7.8 queue: one waits and begins when the others have ended, and further ones are left out', async () => {
  const bench = await house({ overlap: 'queue' });
  await bench.pass(hourMs);
  await bench.pass(hourMs);
  await bench.pass(hourMs);
  expect(await bench.runs()).toEqual([`${due(13)} paused`]);
  expect(await bench.standing()).toMatchObject({ waiting: [{ runId: due(14) }] });
  await bench.end(due(13));
  await bench.pass(61_000);
  expect(await bench.runs()).toEqual([`${due(13)} completed`, `${due(14)} paused`]);
  expect((await bench.standing()).waiting).toBeUndefined();
});

test('W7.8 cancel-previous: what goes on is cancelled first, and the newest time begins when that has ended', async () => {
  const bench = await house({ overlap: 'cancel-previous' });
  await bench.pass(hourMs);
  await bench.pass(hourMs);
  await bench.pass(60_000);
  expect(await bench.runs()).toEqual([`${due(13)} cancelled`, `${due(14)} paused`]);
});

test('W7.8 allow, and missed: all: each time begins', async () => {
  for (const options of [{ overlap: 'allow' }, { missed: 'all' }] as const) {
    const bench = await house(options);
    await bench.pass(hourMs);
    await bench.pass(hourMs);
    expect(await bench.runs()).toEqual([`${due(13)} paused`, `${due(14)} paused`]);
  }
});

test('W7.9 a paused schedule starts nothing, goes on with the next time, and does not start what was due meanwhile', async () => {
  const bench = await house({ overlap: 'allow' });
  await bench.hourly.pause();
  await bench.pass(hourMs);
  expect([await bench.runs(), await bench.standing()]).toMatchObject([
    [],
    { pausedAt: startMs, skipped: { times: [Date.UTC(2026, 10, 22, 13)], because: 'paused' } },
  ]);
  await bench.hourly.resume();
  await bench.pass(hourMs);
  expect(await bench.runs()).toEqual([`${due(14)} paused`]);
  expect((await bench.standing()).pausedAt).toBeUndefined();
});

test('W7.9 what was said while no worker lived counts from when it was said', async () => {
  const before = await house({ missed: 'all' });
  await before.engine.close();
  const client = createBench({ clock: before.clock, store: before.store, ids: testIds('cli') }).engine;
  client.know(before.hourly.graph);
  const hourly = schedule({ graph: report, engine: client }, { cron: '0 * * * *', name: 'hourly', missed: 'all' });
  before.clock.timeMs += hourMs;
  await hourly.pause();
  before.clock.timeMs += 2 * hourMs;
  await hourly.resume();
  before.clock.timeMs += hourMs;
  const after = await house({ missed: 'all' }, { clock: before.clock, store: before.store, workerId: 'worker-2' });
  await after.pass(1);
  expect(await after.runs()).toEqual([`${due(16)} paused`]);
});

test('W7.10 a trigger starts a run now, under an id of its own, whether or not one goes on', async () => {
  const bench = await house();
  await bench.pass(hourMs);
  const { starts } = await bench.hourly.trigger();
  await bench.pass(1);
  expect(starts).toEqual([expect.stringMatching(/^cairn:due:hourly:by:/u)]);
  expect(await bench.runs()).toEqual([`${due(13)} paused`, `${starts[0]} paused`]);
  const skipped = await bench.hourly.trigger({ overlap: 'skip' });
  await bench.pass(1);
  expect([await bench.runs(), (await bench.standing()).skipped?.because]).toEqual([
    [`${due(13)} paused`, `${starts[0]} paused`],
    'overlap',
  ]);
  expect(skipped.starts).not.toEqual(starts);
});

test('W7.11 a backfill starts each time of a span once, those that ran before not again, one after another where asked', async () => {
  const bench = await house();
  await bench.pass(hourMs);
  await bench.end(due(13));
  const span = { from: new Date(Date.UTC(2026, 10, 22, 11)), to: new Date(Date.UTC(2026, 10, 22, 20)) };
  const { starts } = await bench.hourly.backfill({ ...span, overlap: 'queue' });
  expect(starts).toEqual([due(11), due(12), due(13)]);
  await bench.pass(1);
  expect(await bench.runs()).toEqual([`${due(13)} completed`, `${due(11)} paused`]);
  await bench.end(due(11));
  await bench.pass(61_000);
  await bench.end(due(12));
  await bench.pass(61_000);
  expect(await bench.runs()).toEqual([`${due(13)} completed`, `${due(11)} completed`, `${due(12)} completed`]);
  await bench.hourly.backfill(span);
  await bench.pass(1);
  expect(await bench.runs()).toHaveLength(3);
  await expect(bench.hourly.backfill({ from: span.to, to: span.to })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  const years = { from: new Date(0), to: span.to };
  await expect(bench.hourly.backfill(years)).rejects.toThrow('more than 1000 times');
});

test('W7.12 runs begin up to the jitter later than they are due, each by the same delay whoever starts it', async () => {
  const bench = await house({ jitterMs: 600_000 });
  await bench.pass(hourMs / 2);
  const run = await bench.store.readRun({ tenant: 'default', runId: due(13) });
  const delayMs = (run?.schedule.dueAt ?? 0) - Date.UTC(2026, 10, 22, 13);
  expect(delayMs).toBeGreaterThan(0);
  expect(delayMs).toBeLessThan(600_000);
  expect(run?.claims).toBe(0);
  await bench.pass(delayMs);
  await until(
    'it began',
    async () => ((await bench.store.readRun({ tenant: 'default', runId: due(13) }))?.claims ?? 0) > 0,
  );
});

test('W7.12 after its end a schedule is over', async () => {
  const bench = await house({ endsAt: new Date(Date.UTC(2026, 10, 22, 13, 30)) });
  expect(bench.hourly.next(5)).toHaveLength(1);
  await bench.pass(hourMs);
  await until('it is over', async () => (await bench.engine.inspect('cairn:schedule:hourly')).status === 'completed');
  await bench.clock.advance(5 * hourMs);
  expect(await bench.runs()).toEqual([`${due(13)} paused`]);
});

test('W7.7 a schedule that is replaced tells what is different, and stays paused', async () => {
  const bench = await house();
  await bench.hourly.pause();
  const other = schedule(
    { graph: report, engine: bench.engine },
    { cron: '0 3 * * *', name: 'hourly', overlap: 'queue' },
  );
  expect(await other.start({ replaces: true })).toEqual({
    runId: 'cairn:schedule:hourly:2',
    created: true,
    changes: { cron: { before: '0 * * * *', after: '0 3 * * *' }, overlap: { before: undefined, after: 'queue' } },
  });
  await until('it is paused', async () => (await standingIn(bench, 'cairn:schedule:hourly:2'))?.pausedAt === startMs);
});

test.each([
  [{ overlap: 'never' as never }, 'overlap'],
  [{ jitterMs: -1 }, 'jitterMs'],
  [{ endsAt: '2027' as never }, 'endsAt'],
])('G9 a schedule with %o is refused', async (options: Partial<ScheduleOptions>, path) => {
  await expect(house(options)).rejects.toMatchObject({ code: 'CONFIG_INVALID', data: { path } });
});

test('P7 a schedule that sleeps as earlier versions did wakes at its time, and heeds what it is told from then on', async () => {
  const clock = createVirtualClock({ startMs });
  const store = createMemoryStore({ now: clock.now });
  const sleeper = createBench({ clock, store });
  // The function of earlier versions, up to its first sleep.
  const run = async (ctx: NodeContext): Promise<void> => {
    await ctx.step('begin', { effect: 'pure' }, () => ctx.startedAt);
    const at = await ctx.step('next', { effect: 'pure' }, () => Date.UTC(2026, 10, 22, 13));
    await ctx.sleepUntil(at, 'until');
  };
  const earlier = compileGraph({
    id: 'schedule:report',
    nodes: [{ id: 'schedule', type: 'schedule', effect: 'read', implementation: { run, codeText: 'schedule 1' } }],
    edges: [
      { from: START, to: 'schedule' },
      { from: 'schedule', to: END },
    ],
  });
  const settings = { name: 'hourly', cron: '0 * * * *', timezone: 'UTC', missed: 'last', limit: 100, input: {} };
  const options = { runId: 'cairn:schedule:hourly', origin: 'schedule' } as const;
  await (await sleeper.engine.start(earlier, settings, options)).result();
  await sleeper.engine.close();
  const bench = await house({}, { clock, store, workerId: 'worker-2' });
  await bench.pass(hourMs);
  expect(await bench.runs()).toEqual([`${due(13)} paused`]);
  await bench.hourly.pause();
  await bench.pass(hourMs);
  expect(await bench.standing()).toMatchObject({ pausedAt: startMs + hourMs, skipped: { because: 'paused' } });
});
