/** Retries and timeouts of nodes and steps (E6, X3). */
import { describe, expect, test } from 'vitest';
import { type EffectClass, type NodeContext, NodeFailure, outcome } from '../../graph/contracts/node-contract.ts';
import type { RetryFailure, RetryPolicy } from '../../graph/contracts/retry-policy.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { factsOf, retryDelayMs } from './retry.ts';

const never = new Promise<never>(() => {});
const plain = { error: new Error('x'), code: 'FAILED', retryAfterMs: undefined };

test.each<[RetryPolicy, readonly (number | undefined)[]]>([
  [{ attempts: 1 }, [undefined]],
  [{ attempts: 4, delayMs: 100, backoff: 'fixed' }, [100, 100, 100, undefined]],
  [{ attempts: 4, delayMs: 100, backoff: 'linear' }, [100, 200, 300, undefined]],
  [{ attempts: 5, delayMs: 100, backoff: 'exponential' }, [100, 200, 400, 800, undefined]],
  [{ attempts: 4 }, [1_000, 2_000, 4_000, undefined]],
  [{ attempts: 9, delayMs: 50_000 }, [50_000, 60_000, 60_000]],
  [{ attempts: 4, delayMs: 100, delayMsMax: 150 }, [100, 150, 150, undefined]],
  [{ attempts: 4, delayMs: 100, factor: 3 }, [100, 300, 900, undefined]],
  [{ attempts: 3, delayMs: 100, factor: 1 }, [100, 100, undefined]],
  [{ attempts: 3, delayMs: 100, on: ['OTHER'] }, [undefined]],
  [{ attempts: 3, delayMs: 100, on: ['OTHER', 'FAILED'] }, [100, 200, undefined]],
])('E6 the policy %j waits exactly this long before each attempt', (policy, delays) => {
  const given = delays.map((_, index) => retryDelayMs(policy, index + 1, plain, () => 0.5));
  expect(given).toEqual(delays);
});

test.each([
  [0, 50],
  [0.25, 75],
  [0.5, 100],
  [1, 150],
])('E6 jitter makes a delay as much longer as shorter: drawn %d of it, it lasts %d ms', (drawn, delayMs) => {
  const policy = { attempts: 2, delayMs: 100, delayMsMax: 100, jitter: 0.5 };
  expect(retryDelayMs(policy, 1, plain, () => drawn)).toBe(delayMs);
});

test('E6 a function of the failure is asked last, and only true is a yes', () => {
  const asked: RetryFailure[] = [];
  const policyOf = (answer: () => unknown): RetryPolicy => ({
    attempts: 2,
    on: ['FAILED'],
    when: (failure) => (asked.push(failure), answer() as boolean),
  });
  const delayOf = (answer: () => unknown, code = 'FAILED', attempt = 1): number | undefined =>
    retryDelayMs(policyOf(answer), attempt, { ...plain, code }, () => 0);
  expect(delayOf(() => true)).toBe(1_000);
  expect(asked).toEqual([{ error: plain.error, code: 'FAILED', attempt: 1 }]);
  for (const no of [() => false, () => 'yes', () => Promise.resolve(true), () => JSON.parse('{') as unknown])
    expect(delayOf(no)).toBeUndefined();
  asked.length = 0;
  expect([delayOf(() => true, 'OTHER'), delayOf(() => true, 'FAILED', 2), asked.length]).toEqual([
    undefined,
    undefined,
    0,
  ]);
});

test('E6 G1 what a function decided is on record with the retry, of a node and of a step; its text counts in codeHash, not in the hash', async () => {
  const bench = createBench();
  const when = ({ error }: RetryFailure): boolean => (error as Error).message === 'again';
  const messages = ['again', 'never', 'again', 'never'];
  const fail = (): never => {
    throw new NodeFailure(messages.shift() ?? 'out', { applied: 'no' });
  };
  const graph = graphOf(
    'g',
    [
      node('a', 'read', fail, { retry: { attempts: 9, delayMs: 5, when }, onFailure: 'skip-dependents' }),
      node('b', 'read', (ctx) => ctx.step('s', { retry: { attempts: 9, delayMs: 5, when } }, fail)),
    ],
    [...edges('> a', 'b >'), { from: 'a', to: 'b', always: true }],
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  const retries: unknown[] = [];
  for await (const event of handle.events())
    if (event.type === 'checkpoint') retries.push(...event.change.filter(({ kind }) => kind === 'retry'));
  expect(retries).toMatchObject([
    { node: ['a'], attempt: 2, by: 'when' },
    { node: ['b'], step: 's', attempt: 2, by: 'when' },
  ]);
  const hashesOf = (decide: (failure: RetryFailure) => boolean): readonly [string, string] => {
    const other = graphOf(
      'g',
      [node('a', 'read', fail, { retry: { attempts: 2, when: decide } })],
      edges('> a', 'a >'),
    );
    return [other.hash, other.codeHash];
  };
  const [one, two] = [hashesOf(() => true), hashesOf(() => false)];
  expect([one[0] === two[0], one[1] === two[1]]).toEqual([true, false]);
});

test('E6 without a policy nothing is tried again; a failure may ask for a longer delay, not for a shorter one', () => {
  expect(retryDelayMs(undefined, 1, plain, () => 0)).toBeUndefined();
  const policy = { attempts: 2, delayMs: 100 };
  expect(retryDelayMs(policy, 1, { ...plain, code: 'BUSY', retryAfterMs: 5_000 }, () => 0)).toBe(5_000);
  expect(retryDelayMs(policy, 1, { ...plain, code: 'BUSY', retryAfterMs: 5 }, () => 0)).toBe(100);
});

test.each<[unknown, string]>([
  [new NodeFailure('x', { code: 'BUSY' }), 'BUSY'],
  [new TypeError('x'), 'TypeError'],
  ['text', 'FAILED'],
  [null, 'FAILED'],
  [{ code: 7 }, 'FAILED'],
])('E6 the code of whatever was thrown is known: case %#', (error, code) => {
  expect(factsOf(error).code).toBe(code);
});

const links = edges('> a', 'a >');

test('E6 the number of attempts of a node survives a crash between two of them, and so does the delay', async () => {
  const bench = createBench();
  const seen: number[] = [];
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'pure',
        (ctx) => {
          seen.push(ctx.attempt);
          throw new Error('no');
        },
        { retry: { attempts: 3, delayMs: 60_000 } },
      ),
    ],
    links,
  );
  const started = dyingEngine(bench, 1).start(graph, {}, { runId: 'r' });
  await settleDown();
  await started;
  const killedAt = bench.clock.timeMs;
  let result = await resumeToRest(afterCrash(bench), 'r', graph);
  for (let round = 0; round < 5 && result.status === 'paused'; round += 1) {
    const [wait] = result.waits;
    expect([wait?.kind, wait?.node]).toEqual(['retry', ['a']]);
    bench.clock.timeMs = wait?.dueAt ?? 0;
    result = await resumeToRest(afterCrash(bench), 'r', graph);
  }
  expect(result.status).toBe('failed');
  expect(bench.clock.timeMs - killedAt).toBeGreaterThanOrEqual(60_000);
  expect(seen).toEqual([1, 2, 3]);
});

test('E6 a resume of a failed run has a new budget, and counts on', async () => {
  const { engine } = createBench();
  const seen: number[] = [];
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'read',
        (ctx) => {
          seen.push(ctx.attempt);
          if (ctx.attempt < 4) throw new Error('no');
          return 'at last';
        },
        { retry: { attempts: 2, delayMs: 1 } },
      ),
    ],
    links,
  );
  const failed = await runToRest(engine, graph);
  expect(failed.status).toBe('failed');
  expect((await resumeToRest(engine, failed.runId, graph)).state.outputs['a']).toBe('at last');
  expect(seen).toEqual([1, 2, 3, 4]);
});

test.each([
  ['did not happen', { happened: false } as const, 3, 'failed'],
  ['happened', { happened: true, output: 'found' } as const, 1, 'completed'],
  ['is not known', { happened: 'unknown' } as const, 1, 'failed'],
])('X3 a failed write whose reconcile says that it %s is treated so', async (_, found, calls, status) => {
  const { engine } = createBench();
  let count = 0;
  const run = (): never => {
    count += 1;
    throw new Error('reset');
  };
  const graph = graphOf(
    'g',
    [node('a', 'write', run, { retry: { attempts: 3, delayMs: 1 }, implementation: { run, reconcile: () => found } })],
    links,
  );
  const result = await runToRest(engine, graph);
  expect([result.status, count]).toEqual([status, calls]);
});

test.each([
  ['gives nothing', () => undefined as never],
  ['throws', () => Promise.reject(new Error('lost'))],
  ['gives what cannot be stored', () => ({ happened: true as const, output: () => 1 })],
])('X3 a reconcile that %s leaves the failure as it is', async (_, reconcile) => {
  const { engine } = createBench();
  const run = (): never => {
    throw new Error('first');
  };
  const graph = graphOf(
    'g',
    [node('a', 'write', run, { retry: { attempts: 2, delayMs: 1 }, implementation: { run, reconcile } })],
    links,
  );
  const failed = await runToRest(engine, graph);
  expect(failed.error?.message).toContain('first');
});

test('E6 a timeout is per attempt, and a timed-out pure node is tried again', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', (ctx) => (ctx.attempt < 3 ? never : ctx.attempt), {
        timeoutMs: 100,
        retry: { attempts: 3, delayMs: 1, on: ['NODE_TIMED_OUT'] },
      }),
    ],
    links,
  );
  expect((await runToRest(engine, graph)).state.outputs['a']).toBe(3);
});

test('E6 a node that returns at once is timed out all the same while an effect it began has not ended', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'read',
        (ctx) => {
          void ctx.step('send', { effect: 'write' }, () => never).catch(() => {});
          return 'early';
        },
        { timeoutMs: 50 },
      ),
    ],
    links,
  );
  const failed = await runToRest(engine, graph);
  expect(failed.error).toMatchObject({ code: 'NODE_TIMED_OUT', data: { timeoutMs: 50 } });
});

test('E6 a step that takes too long is told so, and fails its node with the code', async () => {
  const { engine } = createBench();
  let reason: unknown;
  const graph = graphOf(
    'g',
    [
      node('a', 'read', (ctx) =>
        ctx.step('slow', { timeoutMs: 50 }, (step) => {
          step.signal.addEventListener('abort', () => (reason = step.signal.reason));
          return never;
        }),
      ),
    ],
    links,
  );
  const failed = await runToRest(engine, graph);
  expect(failed.error).toMatchObject({ code: 'NODE_TIMED_OUT', data: { timeoutMs: 50 } });
  expect(reason).toMatchObject({ code: 'NODE_TIMED_OUT' });
});

test('G8 P1 a resume of a failed run makes one attempt of what failed it, whatever pauses come in between', async () => {
  const bench = createBench();
  const calls: string[] = [];
  const graph = graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        await ctx.step('first', {}, () => 1);
        if (ctx.attempt === 1) throw new Error('no');
        const tried = await ctx
          .step('try', {}, () => {
            calls.push('try');
            throw new Error('not this time');
          })
          .catch(() => 'caught');
        return [tried, await ctx.ask({ prompt: '?' }), ctx.attempt];
      }),
      node('b', 'read', async (ctx) => {
        if (ctx.attempt === 1) throw new Error('no');
        return [await ctx.ask({ prompt: '?' }), ctx.attempt];
      }),
    ],
    edges('> a', '> b', 'a >', 'b >'),
  );
  await runToRest(bench.engine, graph, {}, 'r');
  const paused = await resumeToRest(bench.engine, 'r', graph);
  expect(paused.status).toBe('paused');
  for (const { waitId } of paused.waits) await bench.engine.answer('r', waitId, 'yes');
  const done = await resumeToRest(afterCrash(bench), 'r', graph);
  expect(done.state.outputs).toEqual({ a: ['caught', 'yes', 2], b: ['yes', 2] });
  expect(calls).toEqual(['try']);
});

test('G8 an attempt that a resume of a failed run begins has a budget that a crash does not renew', async () => {
  const bench = createBench();
  const seen: number[] = [];
  const fail = async (attempt: number): Promise<never> => {
    seen.push(attempt);
    throw new Error('no');
  };
  const graph = graphOf(
    'g',
    [
      node('a', 'read', (ctx) => ctx.step('one', {}, () => 1).then(() => fail(ctx.attempt)), {
        retry: { attempts: 2, delayMs: 60_000 },
      }),
    ],
    links,
  );
  const toEnd = async (): Promise<string> => {
    const { status } = await resumeToRest(afterCrash(bench), 'r', graph);
    if (status === 'failed') return status;
    bench.clock.timeMs += 60_000;
    return (await resumeToRest(afterCrash(bench), 'r', graph)).status;
  };
  expect((await runToRest(bench.engine, graph, {}, 'r')).status).toBe('paused');
  bench.clock.timeMs += 60_000;
  expect(await toEnd()).toBe('failed');
  expect(seen).toEqual([1, 2]);
  expect(await toEnd()).toBe('failed');
  expect(seen).toEqual([1, 2, 3, 4]);
});

test('G8 X3 a failed effect that a person runs again counts its attempt on, asked in this process or in another', async () => {
  const bench = createBench();
  const seen: number[] = [];
  const graph = graphOf(
    'g',
    [
      node('a', 'write', (ctx) => {
        seen.push(ctx.attempt);
        if (ctx.attempt < 3) throw new Error('no');
        return 1;
      }),
    ],
    links,
  );
  await runToRest(bench.engine, graph, {}, 'r');
  for (const expected of ['failed', 'completed']) {
    const { waits } = await resumeToRest(afterCrash(bench), 'r', graph);
    await bench.engine.answer('r', waits[0]?.waitId ?? '', 'run again');
    expect((await resumeToRest(afterCrash(bench), 'r', graph)).status).toBe(expected);
  }
  expect(seen).toEqual([1, 2, 3]);
});

describe('E9 a new attempt after a failed run sees what the first saw, if that left steps or an intent', () => {
  const cases: [string, (ctx: NodeContext, fail: () => void) => unknown, EffectClass][] = [
    ['an intent', (_, fail) => fail(), 'external'],
    ['a step', (ctx, fail) => ctx.step('s', {}, () => 1).then(fail), 'read'],
  ];
  test.each(cases)('E9 %s', async (_, work, effect) => {
    const bench = createBench();
    const seen: unknown[] = [];
    const failed = Promise.withResolvers<void>();
    const graph = graphOf(
      'g',
      [
        node(
          'a',
          effect,
          async (ctx) => {
            seen.push(ctx.state.scratch['x']);
            await work(ctx, () => {
              failed.resolve();
              if (ctx.attempt === 1) throw new Error('no');
            });
          },
          { idempotent: true },
        ),
        node('b', 'pure', async () => {
          await failed.promise;
          await settleDown();
          return outcome({ scratch: { x: 'new' } });
        }),
      ],
      edges('> a', '> b', 'a >', 'b >'),
    );
    const first = await runToRest(bench.engine, graph, {}, 'r');
    expect([first.status, first.state.scratch['x']]).toEqual(['failed', 'new']);
    const fork = await bench.engine.fork(first, { set: [{ path: ['scratch', 'x'], value: 'patched' }] });
    expect((await resumeToRest(afterCrash(bench), fork.runId, graph)).status).toBe('completed');
    expect(seen, 'what failed is tried anew under a patch').toEqual([undefined, 'patched']);
    expect((await resumeToRest(afterCrash(bench), 'r', graph)).status).toBe('completed');
    expect(seen).toEqual([undefined, 'patched', undefined]);
  });
});
