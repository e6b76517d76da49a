/** Attempts: retries, failures, cancellation, outcomes that cannot be kept. */
import { expect, test } from 'vitest';
import { END, type Graph } from '../../graph/graph.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

test('E6 attempts are counted and a failed one is tried again after its delay', async () => {
  const { engine, clock } = createBench();
  const seen: number[] = [];
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'pure',
        (ctx) => {
          seen.push(ctx.attempt);
          if (ctx.attempt < 3) throw new Error('not yet');
          return 'done';
        },
        { retry: { attempts: 3, delayMs: 1000 } },
      ),
    ],
    edges('> a', 'a >'),
  );
  const before = clock.timeMs;
  const result = await runToRest(engine, graph);
  expect(result.status).toBe('completed');
  expect(seen).toEqual([1, 2, 3]);
  expect(clock.timeMs - before).toBeGreaterThanOrEqual(3000);
});

test('X3 a failed effect is not tried again unless the failure says that it did not happen', async () => {
  const { engine } = createBench();
  let calls = 0;
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'write',
        () => {
          calls += 1;
          throw new Error('connection reset');
        },
        { retry: { attempts: 5, delayMs: 1 } },
      ),
    ],
    edges('> a', 'a >'),
  );
  expect((await runToRest(engine, graph)).status).toBe('failed');
  expect(calls).toBe(1);
  let tries = 0;
  const safe = graphOf(
    'g2',
    [
      node(
        'a',
        'write',
        () => {
          tries += 1;
          if (tries < 3) throw new NodeFailure('refused', { applied: 'no' });
          return tries;
        },
        { retry: { attempts: 5, delayMs: 1 } },
      ),
    ],
    edges('> a', 'a >'),
  );
  expect((await runToRest(engine, safe)).state.outputs['a']).toBe(3);
});

test('G8 a resume of a failed run retries what failed it; attempts count on', async () => {
  const { engine } = createBench();
  let isBroken = true;
  let sideRuns = 0;
  const graph = graphOf(
    'g',
    [
      node('side', 'write', () => (sideRuns += 1)),
      node('a', 'read', (ctx) => {
        if (isBroken) throw new Error('broken');
        return ctx.attempt;
      }),
    ],
    edges('> side', '> a', 'a >'),
  );
  const failed = await runToRest(engine, graph);
  expect(failed.status).toBe('failed');
  expect(failed.error?.code).toBe('NODE_FAILED');
  isBroken = false;
  const done = await resumeToRest(engine, failed.runId, graph);
  expect(done.status).toBe('completed');
  expect(done.state.outputs['a']).toBe(2);
  expect(sideRuns).toBe(1);
});

test('E7 a cancelled run ends, and what was aborted knows it', async () => {
  const { engine } = createBench();
  let aborted = false;
  const begun = Promise.withResolvers<void>();
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'pure',
        (ctx) =>
          new Promise((_, reject) => {
            begun.resolve();
            ctx.signal.addEventListener('abort', () => {
              aborted = true;
              reject(new Error('aborted'));
            });
          }),
      ),
    ],
    edges('> a', 'a >'),
  );
  const handle = await engine.start(graph, {});
  await begun.promise;
  await engine.cancel(handle.runId);
  expect((await handle.result()).status).toBe('cancelled');
  expect(aborted).toBe(true);
});

test('C2 a node that returns what cannot be stored fails with the path', async () => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'pure', () => ({ deep: [() => 1] }))], edges('> a', 'a >'));
  const result = await runToRest(engine, graph);
  expect(result.status).toBe('failed');
  expect(result.error?.message).toContain('deep');
});

test('E6.8 a run that failed for its visits fails again when it is resumed, and a higher limit leads on', async () => {
  const rounds: number[] = [];
  const make = (maxVisits: number): Graph =>
    graphOf(
      'g',
      [
        node('a', 'pure', ({ visit }) => {
          rounds.push(visit);
          return visit;
        }),
      ],
      [
        ...edges('> a'),
        { from: 'a', to: 'a', condition: { text: 'again', evaluate: ({ outcome: { output } }) => Number(output) < 4 } },
        { from: 'a', to: END, condition: { text: 'done', evaluate: ({ outcome: { output } }) => Number(output) >= 4 } },
      ],
      { policies: { maxVisits } },
    );
  const { engine } = createBench();
  const graph = make(2);
  const failed = await runToRest(engine, graph, {}, 'r');
  const over = { code: 'RUN_LIMIT', data: { limit: 'maxVisits', value: 2 } };
  expect([failed.status, rounds]).toEqual(['failed', [1, 2]]);
  expect(failed.error?.cause).toMatchObject(over);
  for (let more = 0; more < 3; more += 1) {
    const again = await resumeToRest(engine, 'r', graph);
    expect([again.status, rounds]).toEqual(['failed', [1, 2]]);
    expect(again.error?.cause).toMatchObject(over);
  }
  const preview = await engine.preview({ runId: 'r', seq: failed.seq }, { graph, retryFailed: true });
  expect(preview.filter(({ prediction }) => prediction !== 'restored').map(({ prediction }) => prediction)).toEqual([
    'fails',
  ]);
  const higher = make(10);
  const done = await (await engine.resume('r', { graph: higher })).result();
  expect([done.status, done.state.outputs['a'], rounds]).toEqual(['completed', 4, [1, 2, 3, 4]]);
});
