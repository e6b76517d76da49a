/** What an attempt gives after nobody waits for it any more is not taken (E6.4, E7.3). */
import { describe, expect, test } from 'vitest';
import { settleDown } from '../../../test/dying-engine.ts';
import { createBench, edges, endingsOf, graphOf, node, runToRest } from '../../../test/engine-kit.ts';
import { type EffectClass, type NodeContext, NodeFailure, outcome } from '../../graph/contracts/node-contract.ts';
import type { NodeDefinition } from '../../graph/graph.ts';
import type { RunResult } from '../api.ts';

const given = outcome({ output: 'late', scratch: { slow: 'late' } });

/** How one ends that is told to stop. */
const ends: Readonly<Record<string, () => unknown>> = {
  returns: () => given,
  fails: () => Promise.reject(new Error('late')),
  'fails before its effect': () => Promise.reject(new NodeFailure('late', { applied: 'no' })),
};

interface Race {
  readonly result: RunResult;
  /** Which of the nodes behind the slow one ran. */
  readonly ran: readonly string[];
  readonly calls: number;
  /** How the history says that the slow one ended, each time it did. */
  readonly settled: readonly string[];
}

/** A slow node loses against one that wins once `slow` has begun; `isOver` resolves when what follows its cancelling runs. */
async function race(
  effect: EffectClass,
  slow: (ctx: NodeContext, isOver: Promise<void>) => Promise<unknown>,
): Promise<Race> {
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const ran: string[] = [];
  let calls = 0;
  const run = (ctx: NodeContext): Promise<unknown> => {
    calls += 1;
    begun.resolve();
    return slow(ctx, over.promise);
  };
  const cleanUp = (): Promise<void> => {
    ran.push('cleanup');
    over.resolve();
    return settleDown();
  };
  const graph = graphOf(
    'g',
    [
      node('slow', effect, run, { retry: { attempts: 3, delayMs: 1 } }),
      node('fast', 'pure', () => begun.promise),
      node('join', 'pure', () => 'won', { join: { first: 1, cancelRest: true } }),
      node('next', 'pure', () => void ran.push('next')),
      node('handler', 'pure', () => void ran.push('handler')),
      node('cleanup', 'pure', cleanUp),
    ],
    [
      ...edges('> slow', '> fast', 'slow > join', 'fast > join', 'join >', 'slow > next', 'next >'),
      { from: 'slow', to: 'handler', on: 'failed' },
      { from: 'slow', to: 'cleanup', always: true },
    ],
  );
  const { engine } = createBench({ findGraph: () => graph });
  const result = await runToRest(engine, graph);
  return { result, ran, calls, settled: await endingsOf(engine, result.runId, 'slow') };
}

/** What must be true of a race, however its loser ended. */
function expectLost({ result, ran, calls, settled }: Race): void {
  expect([result.status, ran, calls]).toEqual(['completed', ['cleanup'], 1]);
  expect(result.state.outputs).toMatchObject({ join: 'won' });
  expect(Object.keys(result.state.outputs)).not.toContain('slow');
  expect(result.state.scratch).toEqual({});
  expect(settled).toEqual(['cancelled']);
}

/** Resolves when the attempt is told to stop. */
const told = ({ signal }: NodeContext): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve());
  });

describe.each<EffectClass>(['pure', 'read', 'write', 'external', 'human'])('a cancelled %s node', (effect) => {
  test.each(Object.keys(ends))('E7.3 that %s when it is told to stop fires its `always` edges only', async (end) => {
    const lost = await race(effect, async (ctx) => {
      await told(ctx);
      return ends[end]?.();
    });
    expectLost(lost);
  });

  test.each(Object.keys(ends))('E7.3 that %s when its grace is over has been cancelled by then', async (end) => {
    const lost = await race(effect, async (_, isOver) => {
      await isOver;
      return ends[end]?.();
    });
    expectLost(lost);
  });
});

const policy = {
  timeoutMs: 1_100,
  idempotent: true,
  retry: { attempts: 3, delayMs: 1_000, backoff: 'fixed' },
} as const;

/** What has a timeout and the grace of 5,000 ms, and a second attempt 1,000 ms after that, which takes 1,000 ms. */
const forms: Readonly<Record<string, (attempt: (number: number) => Promise<unknown>) => NodeDefinition>> = {
  node: (attempt) => node('slow', 'external', (ctx) => attempt(ctx.attempt), policy),
  step: (attempt) =>
    node('slow', 'read', (ctx) => ctx.step('s', { effect: 'external', ...policy }, (step) => attempt(step.attempt))),
};

describe.each(Object.entries(forms))('an attempt of a %s that has timed out', (_, form) => {
  const cases = [
    ['in its grace', 1_600],
    ['while the next attempt is waited for', 6_600],
    ['while the next attempt runs', 7_600],
    ['when its node is done', 9_000],
  ] as const;
  test.each(cases.flatMap(([when, ms]) => Object.keys(ends).map((end) => [end, when, ms] as const)))(
    'E6.4 and %s %s changes nothing: the next is made, once, and counts',
    async (end, _when, lateMs) => {
      const { engine, clock } = createBench();
      const after = (delayMs: number): Promise<void> => new Promise((resolve) => void clock.setTimer(delayMs, resolve));
      const seen: number[] = [];
      const attempt = async (number: number): Promise<unknown> => {
        seen.push(number);
        await after(number === 1 ? lateMs : 1_000);
        return number === 1 ? ends[end]?.() : 'in time';
      };
      const graph = graphOf(
        'g',
        [form(attempt), node('rest', 'pure', () => after(5_000))],
        edges('> slow', 'slow > rest', 'rest >'),
      );
      const { status, state } = await runToRest(engine, graph);
      expect([status, seen]).toEqual(['completed', [1, 2]]);
      expect(state.outputs['slow']).toBe('in time');
      expect(state.scratch).toEqual({});
    },
  );
});
