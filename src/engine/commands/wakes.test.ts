/** Runs that paused go on in the process that holds their engine. */
import { expect, test } from 'vitest';
import { createVirtualClock } from '../../ports/virtual-clock.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import { createEngine } from '../engine.ts';
import {
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
  testIds,
  type Bench,
} from '../../../test/engine-kit.ts';
import { until } from '../../../test/support/awaited.ts';

const hourMs = 3_600_000;

const asks = graphOf('asks', [node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' }))], edges('> ask', 'ask >'));
const listens = graphOf('listens', [node('hear', 'human', (ctx) => ctx.receive('paid'))], edges('> hear', 'hear >'));
const sleeps = graphOf(
  'sleeps',
  [node('nap', 'read', (ctx) => ctx.sleepUntil(1_700_000_000_000 + hourMs))],
  edges('> nap', 'nap >'),
);

const statusOf = async ({ store }: Bench, runId: string): Promise<string | undefined> =>
  (await store.readRun({ tenant: 'default', runId }))?.status;

const findGraph = (id: string): typeof asks | undefined => [asks, listens, sleeps].find((graph) => graph.id === id);

/** Time goes on when it is told to. */
function wakingBench(wakes: boolean | 'due' = true): Bench {
  const clock = createVirtualClock();
  return { ...createBench({ clock, store: createMemoryStore({ now: clock.now }), wakes, findGraph }), clock };
}

test('W5 an answer and a signal given to the engine let a paused run go on, without a resume and without a moment of time', async () => {
  const bench = wakingBench();
  const asked = await runToRest(bench.engine, asks);
  await bench.engine.answer(asked.runId, asked.waits[0]?.waitId ?? '', 'yes');
  await until('the answered run ends', async () => (await statusOf(bench, asked.runId)) === 'completed');
  const { runId } = await runToRest(bench.engine, listens);
  await bench.engine.signal(runId, 'paid', 40);
  await until('the signalled run ends', async () => (await statusOf(bench, runId)) === 'completed');
  expect((await bench.engine.inspect(runId)).state.outputs['hear']).toBe(40);
});

test('W5 an engine that does not wake leaves a run where it is; so does an answer that says that a resume follows', async () => {
  for (const bench of [wakingBench(false), wakingBench()]) {
    const { runId, waits } = await runToRest(bench.engine, asks);
    const stays = bench.options.wakes === true;
    await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes', { stays });
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(await statusOf(bench, runId)).toBe('paused');
    expect((await resumeToRest(bench.engine, runId, asks)).status).toBe('completed');
  }
});

test('W5 a due time is met by the engine that paused the run, and not before it', async () => {
  const bench = wakingBench();
  const { runId, status } = await runToRest(bench.engine, sleeps);
  expect(status).toBe('paused');
  await bench.clock.advance(hourMs - 1);
  expect(await statusOf(bench, runId)).toBe('paused');
  await bench.clock.advance(1);
  await until('the run ends', async () => (await statusOf(bench, runId)) === 'completed');
});

test('W5 an engine that wakes for due times only meets them, and leaves an answered run to a resume', async () => {
  const bench = wakingBench('due');
  const asked = await runToRest(bench.engine, asks);
  const { runId } = await runToRest(bench.engine, sleeps);
  await bench.engine.answer(asked.runId, asked.waits[0]?.waitId ?? '', 'yes');
  await bench.clock.advance(hourMs);
  await until('the run ends', async () => (await statusOf(bench, runId)) === 'completed');
  expect(await statusOf(bench, asked.runId)).toBe('paused');
});

test('W5 X3 the next attempt of an effect that said that it failed is made when it is due, by whoever comes, and is not asked about', async () => {
  for (const kind of ['node', 'step']) {
    const clock = createVirtualClock();
    const keys: string[] = [];
    const act = ({ idempotencyKey }: { readonly idempotencyKey: string }): string => {
      if (keys.push(idempotencyKey) === 1) throw new NodeFailure('exit code 1', { applied: 'ended' });
      return 'done';
    };
    const retry = { attempts: 2, delayMs: hourMs };
    const graph =
      kind === 'node'
        ? graphOf('g', [node('a', 'external', act, { retry })], edges('> a', 'a >'))
        : graphOf(
            'g',
            [node('a', 'read', (ctx) => ctx.step('s', { effect: 'external', retry }, act))],
            edges('> a', 'a >'),
          );
    const store = createMemoryStore({ now: clock.now });
    const { runId, status } = await runToRest(createBench({ clock, store }).engine, graph);
    expect(status).toBe('paused');
    await clock.advance(hourMs);
    const done = await resumeToRest(createBench({ clock, store }).engine, runId, graph);
    expect([kind, done.status, keys.length, new Set(keys).size]).toEqual([kind, 'completed', 2, 1]);
  }
});

test('W5 after a machine has slept, a due time that passed meanwhile is met within a minute', async () => {
  const clock = createVirtualClock();
  let sleptMs = 0;
  // Timers count only the time that the machine is awake.
  const shown = { ...clock, now: () => clock.now() + sleptMs };
  const bench = createBench({ clock: shown, store: createMemoryStore({ now: shown.now }), wakes: true, findGraph });
  const { runId } = await runToRest(bench.engine, sleeps);
  sleptMs = 2 * hourMs;
  await clock.advance(60_000);
  await until('the run ends', async () => (await statusOf(bench, runId)) === 'completed');
});

test('W5 a run that somebody else advances by then is left to him, and a closed engine wakes nobody', async () => {
  const bench = wakingBench();
  const first = await runToRest(bench.engine, sleeps);
  const claim = await bench.store.claimRun({ tenant: 'default', runId: first.runId, workerId: 'other', leaseMs: 9e9 });
  expect(claim.claim).toBeDefined();
  await bench.clock.advance(2 * hourMs);
  expect(await statusOf(bench, first.runId)).toBe('paused');

  const closed = wakingBench();
  const second = await runToRest(closed.engine, sleeps);
  const third = await runToRest(closed.engine, asks);
  await closed.engine.answer(third.runId, third.waits[0]?.waitId ?? '', 'yes');
  await closed.engine.close();
  await closed.clock.advance(2 * hourMs);
  expect(await Promise.all([second, third].map(({ runId }) => statusOf(closed, runId)))).toEqual(['paused', 'paused']);
  expect(closed.clock.timerCount).toBe(0);
});

test('E5 a signal to a run that is over, or is not there, is refused by its code; a failed one may still hear it', async () => {
  const bench = wakingBench(false);
  const fails = graphOf('fails', [node('a', 'pure', () => Promise.reject(new Error('no')))], edges('> a', 'a >'));
  const done = await runToRest(bench.engine, graphOf('done', [node('a', 'pure', () => 1)], edges('> a', 'a >')));
  const failed = await runToRest(bench.engine, fails);
  const signal = (runId: string): Promise<void> => bench.engine.signal(runId, 'paid', 1);
  await expect(signal(done.runId)).rejects.toMatchObject({ code: 'RUN_FINISHED' });
  await expect(signal('nowhere')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await expect(signal(failed.runId)).resolves.toBeUndefined();
  const cancelled = await runToRest(bench.engine, listens);
  await bench.engine.cancel(cancelled.runId);
  await expect(signal(cancelled.runId)).rejects.toMatchObject({ code: 'RUN_FINISHED' });
});

test('W5 an engine finds the graphs it was told, where nobody else finds them', async () => {
  const bench = createBench({ findGraph: (id) => (id === 'asks' ? asks : undefined) });
  const { runId } = await runToRest(bench.engine, listens);
  const other = createEngine({ ...bench.options, ids: testIds('worker-2') });
  await expect(other.inspect(runId)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  other.know(listens);
  expect((await other.inspect(runId)).status).toBe('paused');
});
