/** Retries of steps: how often they were tried survives a crash, and effects that may have happened are not repeated (E6, X3). */
import { describe, expect, test } from 'vitest';
import { within } from '../../../test/support/awaited.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';
import type { Graph } from '../../graph/graph.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';

const links = edges('> a', 'a >');

/** A run `r` whose process died when it was about to make one more commit than these. */
async function killedAt(commits: number, graph: Graph): Promise<Bench> {
  const bench = createBench();
  const death = Promise.withResolvers<void>();
  await dyingEngine(bench, commits, death.resolve).start(graph, {}, { runId: 'r' });
  await within(`commit ${commits + 1}`, death.promise);
  await settleDown();
  return bench;
}

describe('E6 a step has retries of its own', () => {
  /** A step that fails before its effect at each of three attempts; `seen` gets what each of them is told. */
  const failing = (seen: [attempt: number, key: string][]): Graph =>
    graphOf(
      'g',
      [
        node('a', 'read', (ctx) =>
          ctx.step('s', { effect: 'write', retry: { attempts: 3, delayMs: 1 } }, (step) => {
            seen.push([step.attempt, step.idempotencyKey]);
            throw new NodeFailure('no', { applied: 'no' });
          }),
        ),
      ],
      links,
    );

  test('E6 X1 with the same key for each attempt', async () => {
    const seen: [number, string][] = [];
    expect((await runToRest(createBench().engine, failing(seen))).status).toBe('failed');
    expect(seen.map(([attempt]) => attempt)).toEqual([1, 2, 3]);
    expect(new Set(seen.map(([, key]) => key)).size).toBe(1);
  });

  // Commits in turn: the intent of an attempt, the count of the next.
  test.each([
    [0, [], [1, 2, 3]],
    [2, [1], [2, 3]],
    [4, [1, 2], [3]],
  ])('E6.2 killed with %d commits between two attempts it counts on: %j, then %j', async (commits, before, after) => {
    const seen: [number, string][] = [];
    const bench = await killedAt(commits, failing(seen));
    expect(seen.splice(0).map(([attempt]) => attempt)).toEqual(before);
    expect((await resumeToRest(afterCrash(bench), 'r', failing(seen))).status).toBe('failed');
    expect(seen.map(([attempt]) => attempt)).toEqual(after);
  });

  test.each([
    [1, [1], [1, 2, 3]],
    [3, [1, 2], [2, 3]],
    [5, [1, 2, 3], [3]],
  ])(
    'E6.6 killed with %d commits in an attempt, it is asked about, and begins no new one: %j, then %j',
    async (commits, before, after) => {
      const seen: [number, string][] = [];
      const bench = await killedAt(commits, failing(seen));
      expect(seen.splice(0).map(([attempt]) => attempt)).toEqual(before);
      const next = afterCrash(bench);
      const paused = await resumeToRest(next, 'r', failing(seen));
      expect([paused.waits.map(({ kind }) => kind), seen]).toEqual([['doubt'], []]);
      await next.answer('r', paused.waits[0]?.waitId ?? '', 'run again');
      expect((await resumeToRest(next, 'r', failing(seen))).status).toBe('failed');
      expect(seen.map(([attempt]) => attempt)).toEqual(after);
    },
  );
});

test('X3 a step that may have happened is not tried again by its retries, but asked about', async () => {
  const { engine } = createBench();
  let calls = 0;
  const graph = graphOf(
    'g',
    [
      node('a', 'read', (ctx) =>
        ctx.step('pay', { effect: 'external', retry: { attempts: 5, delayMs: 1 } }, () => {
          calls += 1;
          throw new Error('connection reset');
        }),
      ),
    ],
    links,
  );
  const failed = await runToRest(engine, graph);
  expect([failed.status, calls]).toEqual(['failed', 1]);
  const paused = await resumeToRest(engine, failed.runId, graph);
  expect(paused.waits.map(({ kind, step }) => [kind, step])).toEqual([['doubt', 'pay']]);
  await engine.answer(failed.runId, paused.waits[0]?.waitId ?? '', 'fail');
  const decided = await resumeToRest(engine, failed.runId, graph);
  expect(decided.error?.cause).toMatchObject({ code: 'EFFECT_IN_DOUBT' });
  expect(calls).toBe(1);
});
