/** Next attempts that are due later than a process stays for them (E6, W5). */
import { describe, expect, test } from 'vitest';
import { until } from '../../../test/support/awaited.ts';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { CairnError } from '../../errors.ts';
import { createEngine } from '../engine.ts';
import { createEngineWorker } from '../worker.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
  testIds,
} from '../../../test/engine-kit.ts';

const hour = 3_600_000;
const retry = { attempts: 3, delayMs: hour, delayMsMax: hour };
const links = edges('> a', 'a >');

/** Fails at first, then gives the number of the attempt. */
function failingOnce(): { readonly attempt: (attempt: number, now: number) => number; readonly at: number[] } {
  const at: number[] = [];
  return {
    at,
    attempt: (attempt, now) => {
      at.push(now);
      if (at.length === 1) throw new Error('not yet');
      return attempt;
    },
  };
}

type Attempt = ReturnType<typeof failingOnce>['attempt'];
const ofNode = (attempt: Attempt): Graph =>
  graphOf('g', [node('a', 'read', (ctx) => attempt(ctx.attempt, ctx.now()), { retry })], links);
const ofStep = (attempt: Attempt): Graph =>
  graphOf(
    'g',
    [node('a', 'read', (ctx) => ctx.step('s', { retry }, (step) => attempt(step.attempt, ctx.now())))],
    links,
  );
const ofEffect = (attempt: Attempt): Graph =>
  graphOf('g', [node('a', 'external', (ctx) => attempt(ctx.attempt, ctx.now()), { retry, idempotent: true })], links);
const ofEffectStep = (attempt: Attempt): Graph =>
  graphOf(
    'g',
    [
      node('a', 'read', (ctx) =>
        ctx.step('s', { retry, effect: 'write', idempotent: true }, (step) => attempt(step.attempt, ctx.now())),
      ),
    ],
    links,
  );

describe.each([
  ['node', ofNode],
  ['step', ofStep],
  ['idempotent effect', ofEffect],
  ['idempotent effect of a step', ofEffectStep],
])('E6 a distant attempt of a %s', (_, make) => {
  test('E6 pauses the run, survives a crash, and is made when it is due and no earlier', async () => {
    const bench = createBench();
    const { attempt, at } = failingOnce();
    const graph = make(attempt);
    const paused = await runToRest(bench.engine, graph);
    const [wait] = paused.waits;
    expect([paused.status, paused.waits.length, wait?.kind, wait?.name]).toEqual(['paused', 1, 'retry', 'attempt 2']);
    const dueAt = wait?.dueAt ?? 0;
    expect(dueAt - (at[0] ?? 0)).toBe(hour);
    bench.clock.timeMs = dueAt - hour / 2;
    const early = await resumeToRest(afterCrash(bench), paused.runId, graph);
    expect([early.waits.map(({ waitId, dueAt: due }) => [waitId, due]), at.length]).toEqual([
      [[wait?.waitId, dueAt]],
      1,
    ]);
    bench.clock.timeMs = dueAt;
    const done = await resumeToRest(afterCrash(bench), paused.runId, graph);
    expect([done.status, done.state.outputs['a'], done.waits]).toEqual(['completed', 2, []]);
    expect(await bench.engine.waits(paused.runId)).toEqual([]);
  });

  test('E6 is made at once if somebody answers the wait', async () => {
    const bench = createBench();
    const graph = make(failingOnce().attempt);
    const { runId, waits } = await runToRest(bench.engine, graph);
    await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'now');
    expect((await resumeToRest(afterCrash(bench), runId, graph)).state.outputs['a']).toBe(2);
  });
});

test('W5 a worker takes up a run whose next attempt is due, and leaves it alone before', async () => {
  const bench = createBench();
  const graph = ofNode(failingOnce().attempt);
  const { runId, waits } = await runToRest(bench.engine, graph);
  const engine = createEngine({ ...bench.options, ids: testIds('worker-2'), findGraph: () => graph });
  const clock = { ...bench.clock, setTimer: () => () => {} };
  const worker = createEngineWorker({ engine, clock });
  expect(await worker.look()).toBe(0);
  bench.clock.timeMs = waits[0]?.dueAt ?? 0;
  expect(await worker.look()).toBe(1);
  await worker.stop();
  expect((await bench.store.readRun({ tenant: 'default', runId }))?.status).toBe('completed');
});

test('W5 what is due later fires here if the run is still at work then', async () => {
  // A lease that is renewed seldom, since virtual time advances from one renewal to the next here.
  const bench = createBench({ leaseMs: 60_000 });
  const order: string[] = [];
  const busy = async (ctx: NodeContext): Promise<void> => {
    const end = ctx.now() + 2 * hour;
    await until('two hours have passed', () => ctx.now() >= end);
    order.push('busy');
  };
  const graph = graphOf(
    'g',
    [
      node('sleep', 'read', async (ctx) => {
        await ctx.sleepUntil(1_700_000_000_000 + hour);
        order.push('slept');
      }),
      node('busy', 'pure', busy),
    ],
    edges('> sleep', '> busy', 'sleep >', 'busy >'),
  );
  expect((await runToRest(bench.engine, graph)).status).toBe('completed');
  expect(order).toEqual(['slept', 'busy']);
});

test('E6 a delay that is near is still waited for here, and a step waits out the rest of it after a crash', async () => {
  const bench = createBench();
  const { attempt, at } = failingOnce();
  const graph = graphOf(
    'g',
    [
      node('a', 'read', (ctx) =>
        ctx.step('s', { retry: { attempts: 2, delayMs: 8_000 } }, (step) => attempt(step.attempt, ctx.now())),
      ),
    ],
    links,
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await until('the first attempt', () => at.length > 0);
  for (let turns = 0; turns < 4; turns += 1) await turn();
  await bench.engine.close();
  await handle.result().catch(() => undefined);
  bench.clock.timeMs += 5_000;
  const done = await resumeToRest(afterCrash(bench), 'r', graph);
  expect(done.state.outputs['a']).toBe(2);
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBe(8_000);
});

test('W5 a deadline that passes while the opening of its question is sent again is met all the same', async () => {
  const bench = createBench();
  let isAway = true;
  const commit: typeof bench.store.commit = (given) => {
    if (!isAway || given.openWaits === undefined) return bench.store.commit(given);
    isAway = false;
    return Promise.reject(new CairnError('STORE_UNAVAILABLE', { store: 'test', reason: 'it is away' }));
  };
  const engine = createEngine({ ...bench.options, store: { ...bench.store, commit } });
  const graph = graphOf(
    'g',
    [node('a', 'human', (ctx) => ctx.ask({ prompt: '?', deadlineAt: ctx.now(), defaultAnswer: 'none' }))],
    links,
  );
  expect((await runToRest(engine, graph)).state.outputs['a']).toBe('none');
});

test('E6 an answer does not cut short the delay before the next attempt', async () => {
  const { engine, clock } = createBench();
  const at: number[] = [];
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'read',
        async (ctx) => {
          at.push(clock.timeMs);
          const answer = ctx.ask({ prompt: '?' });
          if (ctx.attempt > 1) return answer;
          await ctx.step('work', {}, () => undefined);
          throw new Error('no');
        },
        { retry: { attempts: 2, delayMs: 5_000 } },
      ),
      node('b', 'read', async () => {
        const asked = await until('the question of a', async () => (await engine.waits('r'))[0]);
        await engine.answer('r', asked.waitId, 'yes');
      }),
    ],
    edges('> a', '> b', 'a >', 'b >'),
  );
  expect((await runToRest(engine, graph, {}, 'r')).state.outputs['a']).toBe('yes');
  expect(at.map((time) => time - (at[0] ?? 0))).toEqual([0, 5_000]);
});
