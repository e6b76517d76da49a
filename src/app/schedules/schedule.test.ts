/** Schedules: their times, what is missed, and that each due time is one run. */
import { expect, test } from 'vitest';
import type { Engine } from '../../engine/api.ts';
import { createEngine } from '../../engine/engine.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { createVirtualClock, type VirtualClock } from '../../ports/virtual-clock.ts';
import { createBench, edges, graphOf, node, testIds, type Bench } from '../../../test/engine-kit.ts';
import { until } from '../../../test/support/awaited.ts';
import { schedule, type ScheduledGraph } from './schedule.ts';
import { openSchedule, readSettings, runsOf, type ScheduleOptions } from './keep-schedule.ts';
import { scheduleGraph } from './schedule-run.ts';
import { readCron } from './cron-times.ts';

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 10, 22, 12, 30);
const iso = (times: readonly number[]): readonly string[] =>
  times.map((time) => new Date(time).toISOString().slice(0, 16));

const report = graphOf('report', [node('write', 'pure', (ctx) => ctx.input)], edges('> write', 'write >'));

interface House extends Bench {
  readonly clock: VirtualClock;
  readonly nightly: ScheduledGraph;
}

function house(
  options: Partial<ScheduleOptions> = {},
  more: { readonly clock?: VirtualClock; readonly store?: Bench['store']; readonly workerId?: string } = {},
): House {
  const clock = more.clock ?? createVirtualClock({ startMs });
  const store = more.store ?? createMemoryStore({ now: clock.now });
  const bench = createBench({ clock, store, wakes: true, ids: testIds(more.workerId ?? 'worker-1') });
  bench.engine.know(report);
  const nightly = schedule({ graph: report, engine: bench.engine }, { cron: '0 * * * *', name: 'hourly', ...options });
  return { ...bench, clock, nightly };
}

/** Ids of the runs that were started, oldest first; all have ended. */
async function startedRuns({ store }: Pick<Bench, 'store'>): Promise<readonly string[]> {
  const { rows } = await store.listRuns({ tenant: 'default', graphId: 'report', limit: 1000 });
  expect(rows.every(({ status }) => status === 'completed')).toBe(true);
  return rows.map(({ runId }) => runId).toSorted();
}

/** Waits until the schedule sleeps until a time. */
async function sleepsUntil({ store }: Pick<Bench, 'store'>, runId: string, text: string): Promise<void> {
  await until(`${runId} sleeps until ${text}`, async () => {
    const { rows } = await store.listWaits({ tenant: 'default', runId });
    const run = await store.readRun({ tenant: 'default', runId });
    return (
      run?.status === 'paused' && run.claim === undefined && iso(rows.flatMap(({ dueAt }) => dueAt ?? []))[0] === text
    );
  });
}

test('W7 each due time starts one run, whose id follows from it, and the schedule sleeps until the next', async () => {
  const { nightly, clock, store, engine } = house({ input: { topic: 'sales' } });
  expect(iso(nightly.next(2).map(Number))).toEqual(['2026-11-22T13:00', '2026-11-22T14:00']);
  expect(await nightly.start()).toEqual({ runId: 'cairn:schedule:hourly', created: true });
  expect(await nightly.start()).toEqual({ runId: 'cairn:schedule:hourly', created: false });
  await sleepsUntil({ store }, 'cairn:schedule:hourly', '2026-11-22T13:00');
  await clock.advance(hourMs);
  await sleepsUntil({ store }, 'cairn:schedule:hourly', '2026-11-22T14:00');
  await clock.advance(hourMs);
  await sleepsUntil({ store }, 'cairn:schedule:hourly', '2026-11-22T15:00');
  expect(await startedRuns({ store })).toEqual([
    'cairn:due:hourly:20261122T130000Z',
    'cairn:due:hourly:20261122T140000Z',
  ]);
  expect((await engine.inspect('cairn:due:hourly:20261122T130000Z')).state.outputs['write']).toEqual({
    topic: 'sales',
  });
  expect(await nightly.stop()).toBe('cairn:schedule:hourly');
  await clock.advance(3 * hourMs);
  expect(await startedRuns({ store })).toHaveLength(2);
  // Ended, it may be started again.
  expect(await nightly.start()).toEqual({ runId: 'cairn:schedule:hourly:2', created: true });
});

test('W7 times count from when a schedule is acknowledged, though its process died and a worker came much later', async () => {
  for (const [missed, started] of [
    [
      'all',
      ['cairn:due:hourly:20261122T130000Z', 'cairn:due:hourly:20261122T140000Z', 'cairn:due:hourly:20261122T150000Z'],
    ],
    ['last', ['cairn:due:hourly:20261122T150000Z']],
  ] as const) {
    const clock = createVirtualClock({ startMs });
    const store = createMemoryStore({ now: clock.now });
    const { engine } = createBench({ clock, store });
    // What is acknowledged is in the store, and nothing of the process is left.
    const settings = await readSettings(report, { cron: '0 * * * *', name: 'hourly', missed });
    expect(
      await openSchedule(
        engine,
        scheduleGraph(
          'schedule:report',
          runsOf(
            () => engine,
            async () => {},
          ),
        ),
        settings,
      ),
    ).toMatchObject({ created: true });
    await clock.advance(3 * hourMs);
    const { nightly } = house({ missed }, { clock, store, workerId: 'worker-2' });
    expect(await nightly.start()).toEqual({ runId: 'cairn:schedule:hourly', created: false });
    await clock.advance(1);
    await sleepsUntil({ store }, 'cairn:schedule:hourly', '2026-11-22T16:00');
    expect(await startedRuns({ store })).toEqual(started);
  }
});

test('W7 two processes that have one schedule start each due time once', async () => {
  const first = house();
  const second = house({}, { clock: first.clock, store: first.store, workerId: 'worker-2' });
  const opened = await Promise.all([first.nightly.start(), second.nightly.start()]);
  expect(opened.map(({ runId }) => runId)).toEqual(['cairn:schedule:hourly', 'cairn:schedule:hourly']);
  for (const text of ['13:00', '14:00', '15:00']) {
    await sleepsUntil(first, 'cairn:schedule:hourly', `2026-11-22T${text}`);
    await first.clock.advance(hourMs);
  }
  await sleepsUntil(first, 'cairn:schedule:hourly', '2026-11-22T16:00');
  expect(await startedRuns(first)).toEqual(['13', '14', '15'].map((hour) => `cairn:due:hourly:20261122T${hour}0000Z`));
});

test.each([
  { missed: 'last', awayMs: 5 * hourMs, started: ['17'] },
  { missed: 'skip', awayMs: 5 * hourMs, started: [] },
  { missed: 'all', awayMs: 5 * hourMs, started: ['13', '14', '15', '16', '17'] },
  { missed: 'all', limit: 2, awayMs: 5 * hourMs, started: ['16', '17'] },
  // Met a little late by a worker that looks each second is not missed.
  { missed: 'skip', awayMs: hourMs / 2 + 30_000, started: ['13'] },
] as const)(
  'W7 of due times that passed while nobody was there, the policy $missed starts $started',
  async ({ awayMs, started, ...options }) => {
    const before = house(options);
    await before.nightly.start();
    await sleepsUntil(before, 'cairn:schedule:hourly', '2026-11-22T13:00');
    await before.engine.close();
    before.clock.timeMs += awayMs;
    const after = house(options, { clock: before.clock, store: before.store, workerId: 'worker-2' });
    expect((await after.nightly.start()).created).toBe(false);
    const next = new Date(Math.ceil((startMs + awayMs) / hourMs) * hourMs).toISOString().slice(0, 16);
    await sleepsUntil(after, 'cairn:schedule:hourly', next);
    await until(
      'what was started has ended',
      async () =>
        (await after.store.listRuns({ tenant: 'default', graphId: 'report', status: ['running'] })).rows.length === 0,
    );
    expect(await startedRuns(after)).toEqual(started.map((hour) => `cairn:due:hourly:20261122T${hour}0000Z`));
  },
);

test('W7 a clock that is put back starts nothing twice and misses nothing', async () => {
  const { nightly, clock, store, engine, options } = house();
  await nightly.start();
  await sleepsUntil({ store }, 'cairn:schedule:hourly', '2026-11-22T13:00');
  await clock.advance(hourMs / 2);
  await sleepsUntil({ store }, 'cairn:schedule:hourly', '2026-11-22T14:00');
  await engine.close();
  const earlier = createVirtualClock({ startMs: startMs - 2 * hourMs });
  const again = house({}, { clock: earlier, store, workerId: 'worker-2' });
  expect(options.clock.now()).toBeGreaterThan(earlier.now());
  await again.nightly.start();
  await sleepsUntil({ store }, 'cairn:schedule:hourly', '2026-11-22T14:00');
  await earlier.advance(4 * hourMs);
  await sleepsUntil({ store }, 'cairn:schedule:hourly', '2026-11-22T15:00');
  expect(await startedRuns({ store })).toEqual([
    'cairn:due:hourly:20261122T130000Z',
    'cairn:due:hourly:20261122T140000Z',
  ]);
});

test('W7 a due time whose run cannot be started is told in the history and holds up none after it', async () => {
  const bench = house();
  let faults = 0;
  const failing: Engine = new Proxy(bench.engine, {
    get(engine, name) {
      const value: unknown = Reflect.get(engine, name, engine);
      if (name === 'start')
        return (...args: Parameters<Engine['start']>) =>
          args[2]?.runId === 'cairn:due:hourly:20261122T130000Z'
            ? Promise.reject(new Error(`away ${(faults += 1)}`))
            : engine.start(...args);
      return typeof value === 'function' ? (value.bind(engine) as unknown) : value;
    },
  });
  const nightly = schedule({ graph: report, engine: failing }, { cron: '0 * * * *', name: 'hourly' });
  await nightly.start();
  await sleepsUntil(bench, 'cairn:schedule:hourly', '2026-11-22T13:00');
  await bench.clock.advance(hourMs);
  await sleepsUntil(bench, 'cairn:schedule:hourly', '2026-11-22T14:00');
  await bench.clock.advance(hourMs);
  await sleepsUntil(bench, 'cairn:schedule:hourly', '2026-11-22T15:00');
  expect(faults).toBe(4);
  expect(await startedRuns(bench)).toEqual(['cairn:due:hourly:20261122T140000Z']);
});

test('W7 other options under one name are refused, or take its place when that is asked for', async () => {
  const bench = house();
  await bench.nightly.start();
  await sleepsUntil(bench, 'cairn:schedule:hourly', '2026-11-22T13:00');
  const other = schedule({ graph: report, engine: bench.engine }, { cron: '30 * * * *', name: 'hourly' });
  await expect(other.start()).rejects.toMatchObject({ code: 'CONFIG_INVALID', data: { path: 'name' } });
  expect(await other.start({ replaces: true })).toMatchObject({ runId: 'cairn:schedule:hourly:2', created: true });
  await sleepsUntil(bench, 'cairn:schedule:hourly:2', '2026-11-22T13:30');
  await bench.clock.advance(hourMs + 60_000);
  await sleepsUntil(bench, 'cairn:schedule:hourly:2', '2026-11-22T14:30');
  expect(await startedRuns(bench)).toEqual(['cairn:due:hourly:20261122T133000Z']);
});

test('W7 a schedule that is killed at any of its commits starts each due time once', async () => {
  // Stops the process after each of its commits in turn.
  for (let dieAt = 1; dieAt <= 12; dieAt += 1) {
    const clock = createVirtualClock({ startMs });
    const store = createMemoryStore({ now: clock.now });
    let commits = 0;
    const dying: typeof store = {
      ...store,
      commit: async (commit) => {
        if (commits >= dieAt) return new Promise(() => {});
        commits += 1;
        return store.commit(commit);
      },
      admitRun: async (admission) => (commits >= dieAt ? new Promise(() => {}) : store.admitRun(admission)),
    };
    const first = createBench({ clock, store: dying, wakes: true });
    const options = { cron: '0 * * * *', name: 'hourly', overlap: 'allow' } as const;
    const hourly = schedule({ graph: report, engine: first.engine }, options);
    await hourly.start();
    await clock.advance(2 * hourMs);
    const engine = createEngine({ ...first.options, store, ids: testIds('worker-2', ['worker-1']) });
    engine.know(report);
    const again = schedule({ graph: report, engine }, options);
    await again.start();
    // A due time that has passed is met at once, which takes a timer.
    await clock.advance(1_000);
    await sleepsUntil({ store }, 'cairn:schedule:hourly', '2026-11-22T15:00');
    for (const runId of ['cairn:due:hourly:20261122T130000Z', 'cairn:due:hourly:20261122T140000Z'])
      if ((await store.readRun({ tenant: 'default', runId })) !== undefined)
        await (await engine.resume(runId)).result();
    const started = await startedRuns({ store });
    // The first may have been missed by the process that died before it: the newest one counts then.
    expect(
      [
        ['cairn:due:hourly:20261122T130000Z', 'cairn:due:hourly:20261122T140000Z'],
        ['cairn:due:hourly:20261122T140000Z'],
      ],
      `dead at ${dieAt}`,
    ).toContainEqual(started);
    await engine.close();
  }
});

test('W7 a local time that does not exist counts when clocks are put forward; one that exists twice counts once', () => {
  const berlin = (cron: string, day: string, count: number): readonly string[] => {
    const times = readCron(cron, 'Europe/Berlin');
    const found: number[] = [];
    for (let after = Date.parse(day); found.length < count;) {
      after = times.next(after) as number;
      found.push(after);
    }
    expect(times.between(Date.parse(day), (found.at(-1) as number) + 1, count)).toEqual(found);
    return iso(found);
  };
  expect(berlin('30 2 * * *', '2026-03-28T12:00Z', 2)).toEqual(['2026-03-29T01:00', '2026-03-30T00:30']);
  expect(berlin('30 2 * * *', '2026-10-24T12:00Z', 2)).toEqual(['2026-10-25T00:30', '2026-10-26T01:30']);
  expect(berlin('*/30 * * * *', '2026-10-25T00:00Z', 4)).toEqual(
    ['00:30', '01:00', '01:30', '02:00'].map((time) => `2026-10-25T${time}`),
  );
  expect(berlin('*/30 * * * *', '2026-03-29T00:00Z', 3)).toEqual(
    ['00:30', '01:00', '01:30'].map((time) => `2026-03-29T${time}`),
  );
});

test('W7 looking back finds the same times as looking forward, around every change of clocks', () => {
  const zones = ['Europe/Berlin', 'Australia/Lord_Howe', 'America/Sao_Paulo', 'Pacific/Apia', 'Asia/Kolkata'];
  const lines = ['30 2 * * *', '*/20 * * * *', '0 0 * * *', '15,45 1-3 * * *', '0 3 L * *'];
  const days = [
    '2026-03-27T11:00Z',
    '2026-04-03T11:00Z',
    '2026-10-23T12:00Z',
    '2018-11-02T12:00Z',
    '2011-12-28T00:00Z',
  ];
  for (const zone of zones)
    for (const line of lines)
      for (const day of days) {
        const times = readCron(line, zone);
        const from = Date.parse(day);
        const to = from + 4 * 24 * hourMs;
        const found: number[] = [];
        for (let time = times.next(from); time !== undefined && time <= to; time = times.next(time)) found.push(time);
        expect(times.between(from, to, found.length + 1), `${line} in ${zone} from ${day}`).toEqual(found);
      }
});

/** Each minute of some days, what clocks show then, by the calendar of the platform alone. */
function minutesOf(zone: string, from: number, to: number): readonly (readonly [time: number, shown: number])[] {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  const minutes: [number, number][] = [];
  for (let time = from; time <= to; time += 60_000)
    minutes.push([time, Date.parse(`${format.format(time).replace(' ', 'T')}Z`)]);
  return minutes;
}

/** What is due in these minutes, by looking at each. Some minutes at both ends are there only as neighbours. */
function dueByLooking(
  matches: (shown: number) => boolean,
  minutes: readonly (readonly [number, number])[],
): readonly number[] {
  const seen = new Set<number>();
  const due: number[] = [];
  const hasNear = (shown: number): boolean =>
    Array.from({ length: 60 }, (_, index) => (index + 1) * 60_000).some(
      (away) => matches(shown - away) || matches(shown + away),
    );
  for (const [index, [time, shown]] of minutes.entries()) {
    const before = minutes[index - 1]?.[1] ?? shown - 60_000;
    const isFirst = !seen.has(shown);
    let isDue = matches(shown) && (isFirst || hasNear(shown));
    for (let skipped = before + 60_000; skipped < shown; skipped += 60_000) isDue ||= matches(skipped);
    seen.add(shown);
    if (isDue) due.push(time);
  }
  return due;
}

test('W7.5 due times are those of a calendar that looks at each minute, in every zone and pattern that was tried', () => {
  const zones: readonly (readonly [string, string])[] = [
    ['Europe/Berlin', '2026-03-29'],
    ['Europe/Berlin', '2026-10-25'],
    ['Africa/Cairo', '2026-04-24'],
    ['Africa/Cairo', '2026-10-30'],
    ['America/New_York', '2026-03-08'],
    ['America/New_York', '2026-11-01'],
    ['America/Sao_Paulo', '2018-11-04'],
    ['America/Sao_Paulo', '2018-02-18'],
    ['Australia/Lord_Howe', '2026-10-04'],
    ['Australia/Lord_Howe', '2026-04-05'],
    ['Pacific/Apia', '2011-12-30'],
    ['Africa/Casablanca', '2026-02-15'],
    ['America/St_Johns', '2006-04-02'],
    ['Asia/Kolkata', '2026-06-01'],
  ];
  const minuteFields = [[0], [30], [0, 15, 30, 45], [10, 40]];
  const hourFields = [undefined, [2], [2, 14], [0, 12], [1, 2, 3], [0, 23]];
  for (const [zone, day] of zones) {
    const from = Date.parse(`${day}T00:00Z`) - 26 * hourMs;
    const to = from + 80 * hourMs;
    const minutes = minutesOf(zone, from - 30 * hourMs, to);
    for (const minuteField of minuteFields)
      for (const hourField of hourFields) {
        const cron = `${minuteField.join(',')} ${hourField?.join(',') ?? '*'} * * *`;
        const matches = (shown: number): boolean => {
          const clock = new Date(shown);
          return minuteField.includes(clock.getUTCMinutes()) && (hourField?.includes(clock.getUTCHours()) ?? true);
        };
        const expected = dueByLooking(matches, minutes).filter((time) => time > from);
        const times = readCron(cron, zone);
        const found: number[] = [];
        for (let time = times.next(from); time !== undefined && time <= to; time = times.next(time)) found.push(time);
        expect(iso(found), `${cron} in ${zone} at ${day}`).toEqual(iso(expected));
        expect(iso(times.between(from, to, 1000)), `${cron} in ${zone} at ${day}, backwards`).toEqual(iso(expected));
      }
  }
}, 60_000);

test('W7.5 a run is not lost when clocks go forward; several skipped times are one', () => {
  const after = (cron: string, zone: string, from: string, count: number): readonly string[] => {
    const times = readCron(cron, zone);
    const found = [times.next(Date.parse(from))];
    while (found.length < count) found.push(times.next(found.at(-1) as number));
    return iso(found as number[]);
  };
  expect(after('0 2,14 * * *', 'Europe/Berlin', '2026-03-28T13:00Z', 2)).toEqual([
    '2026-03-29T01:00',
    '2026-03-29T12:00',
  ]);
  expect(after('*/15 2 * * *', 'Europe/Berlin', '2026-03-28T13:00Z', 2)).toEqual([
    '2026-03-29T01:00',
    '2026-03-30T00:00',
  ]);
  expect(after('0 0,12 * * *', 'Africa/Cairo', '2026-04-23T11:00Z', 2)).toEqual([
    '2026-04-23T22:00',
    '2026-04-24T09:00',
  ]);
});

test.each(['0 0 30 2 *', '0 0 31 2,4,6,9,11 *', '0 0 30 2 +1'])('W7.5 %s is refused, as no day matches it', (cron) => {
  expect(() => readCron(cron, 'UTC')).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', data: expect.objectContaining({ path: 'cron' }) }),
  );
});

test('W7.5 a day that comes every few years is met, forwards and backwards', () => {
  const leap = readCron('0 0 29 2 *', 'Europe/Berlin');
  expect(iso([leap.next(Date.parse('2026-01-01T00:00Z')) as number])).toEqual(['2028-02-28T23:00']);
  expect(iso(leap.between(Date.parse('2020-06-01T00:00Z'), Date.parse('2026-01-01T00:00Z'), 5))).toEqual([
    '2024-02-28T23:00',
  ]);
});

test.each([
  [{ cron: 'now and then' }, 'cron'],
  [{ cron: '0 25 * * *' }, 'cron'],
  [{ cron: '0 0 30 2 *' }, 'cron'],
  [{ cron: '0 0 0 1 1 ? 2020' }, 'cron'],
  [{ cron: '2026-01-01T00:00:00' }, 'cron'],
  [{ timezone: 'Mars/Base' }, 'timezone'],
  [{ name: 'a b' }, 'name'],
  [{ missed: 'some' as never }, 'missed'],
  [{ limit: 0 }, 'limit'],
])('G9 a schedule with %o is refused', async (options: Partial<ScheduleOptions>, path) => {
  const refused = await (async () => house(options).nightly.start())().catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'CONFIG_INVALID', data: { path } });
});

test('H1 runs that callers name as a schedule would suppress nothing, and are no schedule', async () => {
  const bench = house();
  for (const runId of ['hourly.20261122T130000Z', 'hourly.schedule'])
    await (await bench.engine.start(report, { runId }, { runId })).result();
  await expect(bench.engine.start(report, {}, { runId: 'cairn:due:hourly:20261122T130000Z' })).rejects.toMatchObject({
    code: 'ID_INVALID',
  });
  await expect(bench.nightly.stop()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await bench.nightly.start();
  await sleepsUntil(bench, 'cairn:schedule:hourly', '2026-11-22T13:00');
  await bench.clock.advance(hourMs);
  await sleepsUntil(bench, 'cairn:schedule:hourly', '2026-11-22T14:00');
  expect(await startedRuns(bench)).toContain('cairn:due:hourly:20261122T130000Z');
  expect((await bench.engine.inspect('hourly.schedule')).state.outputs['write']).toEqual({ runId: 'hourly.schedule' });
});

test('P7 a schedule of an earlier version goes on under its id, and starts no time again that the version started', async () => {
  const bench = house();
  const { engine, nightly, clock } = bench;
  const settings = { name: 'hourly', cron: '0 * * * *', timezone: 'UTC', missed: 'last', limit: 100, input: {} };
  await engine.start(nightly.graph, settings, { runId: 'hourly.schedule', detach: true });
  expect(await nightly.start()).toEqual({ runId: 'hourly.schedule', created: false });
  await sleepsUntil(bench, 'hourly.schedule', '2026-11-22T13:00');
  const earlier = {
    runId: 'hourly.20261122T130000Z',
    schedule: { dueAt: startMs + hourMs / 2 },
    meta: { labels: { schedule: 'hourly' } },
  };
  await engine.start(report, {}, { ...earlier, detach: true });
  await (await engine.resume(earlier.runId, { graph: report })).result();
  await clock.advance(hourMs);
  await sleepsUntil(bench, 'hourly.schedule', '2026-11-22T14:00');
  await clock.advance(hourMs);
  await sleepsUntil(bench, 'hourly.schedule', '2026-11-22T15:00');
  expect(await startedRuns(bench)).toEqual(['cairn:due:hourly:20261122T140000Z', earlier.runId].toSorted());
  expect(await nightly.stop()).toBe('hourly.schedule');
  await until('it has ended', async () => (await engine.inspect('hourly.schedule')).status === 'cancelled');
  expect(await nightly.start()).toEqual({ runId: 'cairn:schedule:hourly', created: true });
});
