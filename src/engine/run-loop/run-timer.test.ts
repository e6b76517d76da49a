/** A run that takes longer than its time limit fails, whether it works, waits or was killed (E6.10). */
import { expect, test } from 'vitest';
import type { Graph, TimeLimit } from '../../graph/graph.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { within } from '../../../test/support/awaited.ts';
import { createEngine } from '../engine.ts';

const hourMs = 3_600_000;

function asking(timeLimit: TimeLimit, more = {}): Graph {
  return graphOf(
    'g',
    [node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Go?' })), node('tell', 'pure', ({ failure }) => failure?.code)],
    edges('> ask', 'ask >'),
    { policies: { timeLimit, onRunFailure: 'tell', ...more } },
  );
}

test('E6.10 work that takes too long is aborted, and the run fails by name', async () => {
  const reasons: unknown[] = [];
  const graph = graphOf(
    'g',
    [
      node(
        'work',
        'read',
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              reasons.push((signal.reason as { code?: string }).code);
              reject(new Error('stopped'));
            });
          }),
      ),
    ],
    edges('> work', 'work >'),
    { policies: { timeLimit: hourMs } },
  );
  const bench = createBench({ findGraph: () => graph });
  const before = bench.clock.timeMs;
  const { status, error } = await runToRest(bench.engine, graph, {}, 'r');
  expect([status, error?.code, error?.data, reasons]).toEqual([
    'failed',
    'RUN_TIMED_OUT',
    { runId: 'r', ms: hourMs },
    ['RUN_TIMED_OUT'],
  ]);
  expect(bench.clock.timeMs - before).toBe(hourMs);
  expect((await bench.engine.inspect('r')).error?.code).toBe('RUN_TIMED_OUT');
});

test('E6.10 a run that waits is taken up when its time is over, fails, and what follows that runs', async () => {
  const graph = asking(hourMs);
  const bench = createBench({ findGraph: () => graph });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect([paused.status, paused.waits.map(({ name, dueAt }) => [name, dueAt !== undefined])]).toEqual([
    'paused',
    [
      ['question', false],
      ['time limit', true],
    ],
  ]);
  await bench.engine.close();
  const worker = createEngine(bench.options);
  expect(await worker.listClaimable({ limit: 5 })).toEqual([]);
  await bench.clock.advance(hourMs);
  expect(await worker.listClaimable({ limit: 5 })).toEqual(['r']);
  const [taken] = await worker.takeUp({ limit: 5 });
  const failed = await within('it ends', (await taken?.handle)?.result() ?? Promise.reject(new Error('not taken')));
  expect([failed.status, failed.error?.code, failed.state.outputs['tell']]).toEqual([
    'failed',
    'RUN_TIMED_OUT',
    'RUN_TIMED_OUT',
  ]);
  expect(await worker.waits('r')).toEqual([]);
});

test('E6.10 a resume of a run whose time was over gives it its whole time again', async () => {
  const graph = asking(hourMs);
  const bench = createBench({ findGraph: () => graph });
  await runToRest(bench.engine, graph, {}, 'r');
  await bench.clock.advance(2 * hourMs);
  expect((await resumeToRest(bench.engine, 'r', graph)).status).toBe('failed');
  const again = await resumeToRest(bench.engine, 'r', graph);
  expect([again.status, again.waits.find(({ name }) => name === 'time limit')?.dueAt]).toEqual([
    'paused',
    bench.clock.now() + hourMs,
  ]);
  const question = again.waits.find(({ kind }) => kind === 'question');
  await bench.engine.answer('r', question?.waitId ?? '', 'yes');
  const done = await resumeToRest(bench.engine, 'r', graph);
  expect([done.status, done.waits]).toEqual(['completed', []]);
});

test('E6.10 where waits do not count, only the time between them is used', async () => {
  const graph = asking({ ms: hourMs, countsWaits: false });
  const bench = createBench({ findGraph: () => graph });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect(paused.waits.map(({ kind }) => kind)).toEqual(['question']);
  await bench.clock.advance(24 * hourMs);
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(bench.engine, 'r', graph)).status).toBe('completed');
});

test('E6.10 the time in which nobody has taken the run up counts', async () => {
  const graph = asking(hourMs);
  const bench = createBench({ findGraph: () => graph });
  await bench.engine.start(graph, {}, { runId: 'r', detach: true });
  await bench.clock.advance(hourMs);
  expect((await resumeToRest(bench.engine, 'r', graph)).error?.code).toBe('RUN_TIMED_OUT');
});

test('E6.10 a node that fails last, and what is skipped, are not held up by the time that is left', async () => {
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'pure',
        () => {
          throw new Error('no');
        },
        { onFailure: 'fail-last' },
      ),
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Go?' })),
    ],
    edges('> a', '> ask', 'a >', 'ask >'),
    { policies: { timeLimit: hourMs } },
  );
  const bench = createBench({ findGraph: () => graph });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  const question = paused.waits.find(({ kind }) => kind === 'question');
  await bench.engine.answer('r', question?.waitId ?? '', 'yes');
  const { status, error } = await resumeToRest(bench.engine, 'r', graph);
  expect([status, error?.code]).toEqual(['failed', 'NODE_FAILED']);
});

test('E6.10 a fork has its own time, from when it was made', async () => {
  const graph = asking(hourMs);
  const bench = createBench({ findGraph: () => graph });
  await runToRest(bench.engine, graph, {}, 'r');
  await bench.clock.advance(2 * hourMs);
  await resumeToRest(bench.engine, 'r', graph);
  const { runId } = await bench.engine.fork({ runId: 'r', seq: (await bench.engine.inspect('r')).seq });
  const forked = await resumeToRest(bench.engine, runId, graph);
  expect([forked.status, forked.waits.find(({ name }) => name === 'time limit')?.dueAt]).toEqual([
    'paused',
    bench.clock.now() + hourMs,
  ]);
});

test('E6.10 a cancel that comes while the run is stopped for its time cancels it', async () => {
  const begun = Promise.withResolvers<void>();
  const graph = graphOf(
    'g',
    [
      node('work', 'read', () => {
        begun.resolve();
        return new Promise(() => {});
      }),
    ],
    edges('> work', 'work >'),
    { policies: { timeLimit: 1_000 } },
  );
  const bench = createBench({ findGraph: () => graph });
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  await within('it works', begun.promise);
  const cancelled = bench.clock.setTimer(2_000, () => void bench.engine.cancel('r'));
  expect((await within('it ends', handle.result())).status).toBe('cancelled');
  cancelled();
});

test('E6.10 P1 killed at any commit, a run whose time is over ends failed, and what follows ran once', async () => {
  for (let commits = 0; commits < 12; commits += 1) {
    const graph = asking(hourMs);
    const bench = createBench({ findGraph: () => graph });
    await runToRest(bench.engine, graph, {}, 'r');
    await bench.engine.close();
    await bench.clock.advance(hourMs);
    const died = Promise.withResolvers<undefined>();
    const dying = dyingEngine(bench, commits, () => died.resolve(undefined));
    const life = dying.resume('r', { graph }).then((handle) => handle.result());
    const end = await Promise.race([life.catch(() => undefined), died.promise]);
    await settleDown();
    const handle = await afterCrash(bench).resume('r', { graph, retryFailed: false });
    const { status, error, state } = await within('it ends', handle.result());
    expect([commits, status, error?.code, state.outputs['tell']]).toEqual([
      commits,
      'failed',
      'RUN_TIMED_OUT',
      'RUN_TIMED_OUT',
    ]);
    if (end !== undefined) return;
  }
  throw new Error('it never came to its end without a kill');
});

test.each([0, 1.5, '2h', { ms: 5, more: 1 }, { countsWaits: false }])(
  'E6.10 a time limit of %o is refused',
  (timeLimit) => {
    expect(() => asking(timeLimit as never)).toThrow(expect.objectContaining({ code: 'GRAPH_INVALID' }));
  },
);
