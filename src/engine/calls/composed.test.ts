/** Composed nodes: saves, signals, several waits at once, deadlines, what their attempts see (X4, W, E9). */
import { expect, test } from 'vitest';
import { CairnError } from '../../errors.ts';
import { NodeFailure, outcome, type NodeContext } from '../../graph/contracts/node-contract.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

type Graph = ReturnType<typeof graphOf>;
const never = new Promise<never>(() => {});
const hour = 3_600_000;
const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));

interface Saved {
  readonly next: number;
  readonly all: readonly unknown[];
}

function saving(effects: string[]): Graph {
  return single(async (ctx) => {
    const { next, all } = (ctx.savedState as Saved | undefined) ?? { next: 0, all: [] };
    const kept = [...all];
    for (let round = next; round < 3; round += 1) {
      kept.push(
        await ctx.step('work', { effect: 'write', input: 'the same' }, (step) => {
          effects.push(step.idempotencyKey);
          return effects.length;
        }),
      );
      if (round === 1) kept.push(await ctx.ask({ prompt: `round ${round}` }));
      await ctx.save({ next: round + 1, all: kept });
    }
    return kept;
  });
}

test('X1 names of steps recur after ctx.save, their keys do not; a fork takes each record once, over a pause too', async () => {
  const effects: string[] = [];
  const { engine } = createBench();
  const graph = saving(effects);
  const paused = await runToRest(engine, graph);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  const done = await resumeToRest(engine, paused.runId, graph);
  expect(done.state.outputs['a']).toEqual([1, 2, 'yes', 3]);
  expect(new Set(effects).size).toBe(3);
  const fork = await engine.fork({ runId: paused.runId, seq: 0 });
  expect((await resumeToRest(engine, fork.runId, graph)).state.outputs['a']).toEqual([1, 2, 'yes', 3]);
  const other = await engine.fork({ runId: paused.runId, seq: paused.seq }, { answers: { a: 'no' } });
  expect((await resumeToRest(engine, other.runId, graph)).state.outputs['a']).toEqual([1, 2, 'no', 3]);
  expect(effects.length).toBe(3);
});

test('X4 a kill at any commit around saves repeats no step that was recorded', async () => {
  const whole: string[] = [];
  const bench = createBench();
  const paused = await runToRest(bench.engine, saving(whole), {}, 'r');
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const { seq } = await resumeToRest(bench.engine, 'r', saving(whole));
  for (let commits = 0; commits < seq; commits += 1) {
    const effects: string[] = [];
    const killed = createBench();
    const graph = saving(effects);
    const start = dyingEngine(killed, commits).start(graph, {}, { runId: 'r' });
    await settleDown();
    await start;
    const next = afterCrash(killed);
    let result = await resumeToRest(next, 'r', graph);
    for (let more = 0; more < 5 && result.status === 'paused'; more += 1) {
      const [wait] = result.waits;
      const answer = wait?.kind === 'doubt' ? { decision: 'happened', output: 'told' } : 'yes';
      await next.answer('r', wait?.waitId ?? '', answer);
      result = await resumeToRest(next, 'r', graph);
    }
    expect(result.status).toBe('completed');
    expect(new Set(effects).size).toBe(effects.length);
    expect(result.state.outputs['a']).toHaveLength(4);
  }
});

test('X4 a save while steps are still running is refused', async () => {
  const { engine } = createBench();
  const failed = await runToRest(
    engine,
    single(async (ctx) => {
      void ctx.step('slow', {}, () => never);
      await ctx.save(1);
    }),
  );
  expect(failed.error?.cause).toMatchObject({ code: 'NODE_CALL_REFUSED', data: { call: 'save' } });
});

test.each(['step', 'ask', 'sleepUntil', 'receive', 'save', 'run'] as const)(
  'X4 ctx.%s is refused in a write node, and in an attempt that is over',
  async (call) => {
    const { engine } = createBench();
    const use = (ctx: NodeContext): Promise<unknown> => {
      if (call === 'step') return ctx.step('s', {}, () => 1);
      if (call === 'ask') return ctx.ask({ prompt: '?' });
      if (call === 'sleepUntil') return ctx.sleepUntil(0);
      if (call === 'receive') return ctx.receive('s');
      return call === 'save'
        ? ctx.save(1)
        : ctx.run(
            single(() => 1),
            {},
          );
    };
    const write = await runToRest(engine, graphOf('w', [node('a', 'write', use)], edges('> a', 'a >')));
    expect(write.error?.cause).toMatchObject({ code: 'NODE_CALL_REFUSED', data: { call, node: 'a' } });
    let kept: NodeContext | undefined;
    await runToRest(
      engine,
      single((ctx) => ((kept = ctx), 'over')),
    );
    await expect(use(kept as NodeContext)).rejects.toMatchObject({ code: 'NODE_CALL_REFUSED' });
  },
);

test('W5 signals of one name are received in the order in which they came, early and late ones', async () => {
  const { engine } = createBench();
  const graph = single(async (ctx) => {
    await ctx.ask({ prompt: 'begin?' });
    return [await ctx.receive('go'), await ctx.receive('other'), await ctx.receive('go'), await ctx.receive('go')];
  });
  const paused = await runToRest(engine, graph);
  for (const value of [1, 2]) await engine.signal(paused.runId, 'go', value);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  const waiting = await resumeToRest(engine, paused.runId, graph);
  expect(waiting.waits.map(({ kind, name }) => [kind, name])).toEqual([['signal', 'other']]);
  for (const value of [3, 4]) await engine.signal(paused.runId, 'go', value);
  await engine.signal(paused.runId, 'other', 'o', { id: 'one' });
  await engine.signal(paused.runId, 'other', 'o', { id: 'one' });
  expect((await resumeToRest(engine, paused.runId, graph)).state.outputs['a']).toEqual([1, 'o', 2, 3]);
});

const orders = [
  ['x', 'y', 'z'],
  ['z', 'y', 'x'],
  ['y', 'z', 'x'],
];
test.each(orders)('W2 several questions of one activation are answered in any order: %s, %s, %s', async (...order) => {
  const { engine } = createBench();
  let runs = 0;
  const graph = single(async (ctx) => {
    runs += 1;
    const work = ctx.step('work', { effect: 'write' }, () => 'worked');
    return Promise.all([work, ...['x', 'y', 'z'].map((name) => ctx.ask({ name, prompt: name }))]);
  });
  let result = await runToRest(engine, graph);
  for (const [index, name] of order.entries()) {
    expect(result.waits).toHaveLength(3 - index);
    const wait = result.waits.find((open) => open.name === name);
    await engine.answer(result.runId, wait?.waitId ?? '', `${name}!`);
    result = await resumeToRest(engine, result.runId, graph);
  }
  expect(result.state.outputs['a']).toEqual(['worked', 'x!', 'y!', 'z!']);
  expect(runs).toBe(4);
});

test('W1 a deadline passes: the default answers, and without one the wait fails with NODE_TIMED_OUT', async () => {
  const bench = createBench();
  const ask = (ctx: NodeContext, name: string, more: object): Promise<unknown> =>
    ctx.ask({ name, prompt: '?', deadlineAt: 1_700_000_000_000 + hour, ...more });
  const graph = single(async (ctx) => {
    const late = ask(ctx, 'late', {}).catch((error: unknown) => (error as { code: unknown }).code);
    return Promise.all([ask(ctx, 'with', { defaultAnswer: 'later' }), late, ask(ctx, 'null', { defaultAnswer: null })]);
  });
  const paused = await runToRest(bench.engine, graph);
  expect(paused.status).toBe('paused');
  bench.clock.timeMs += hour + 1;
  const done = await resumeToRest(afterCrash(bench), paused.runId, graph);
  expect(done.state.outputs['a']).toEqual(['later', 'NODE_TIMED_OUT', null]);
});

test('W5 a deadline that is near is held by the process, and a late answer is refused', async () => {
  const { engine } = createBench();
  const graph = single((ctx) => ctx.ask({ prompt: '?', deadlineAt: ctx.now() + 5_000, defaultAnswer: 'time is up' }));
  const handle = await engine.start(graph, {});
  let waitId = '';
  for await (const event of handle.events())
    if (event.type === 'waiting') ({ waitId } = event.detail as { waitId: string });
  expect((await handle.result()).state.outputs['a']).toBe('time is up');
  await expect(engine.answer(handle.runId, waitId, 'late')).rejects.toMatchObject({
    code: expect.stringMatching(/WAIT_(CLOSED|NOT_FOUND)/),
  });
});

test.each([1, 64])(
  'E9 with concurrency %i an activation that is resumed sees what it saw, though siblings changed it',
  async (concurrency) => {
    const seen: unknown[] = [];
    const bench = createBench();
    const graph = graphOf(
      'g',
      [
        node('first', 'pure', () => outcome({ scratch: { x: 'old' } })),
        node('a', 'read', async (ctx) => {
          await ctx.step('begin', {}, () => 1);
          seen.push(ctx.state.scratch['x']);
          await ctx.ask({ prompt: '?' });
          return ctx.state.scratch['x'];
        }),
        node('b', 'read', async (ctx) => {
          await ctx.ask({ prompt: 'b?' });
          return outcome({ scratch: { x: 'new' } });
        }),
        node('end', 'pure', (ctx) => [ctx.state.outputs['a'], ctx.state.scratch['x']]),
      ],
      edges('> first', 'first > a', 'first > b', 'a > end', 'b > end', 'end >'),
      { policies: { concurrency } },
    );
    const paused = await runToRest(bench.engine, graph);
    const waitOf = (name: string): string => paused.waits.find(({ node }) => node[0] === name)?.waitId ?? '';
    const next = afterCrash(bench);
    await next.answer(paused.runId, waitOf('b'), 1);
    await resumeToRest(next, paused.runId, graph);
    const last = afterCrash(bench);
    await last.answer(paused.runId, waitOf('a'), 1);
    const done = await resumeToRest(last, paused.runId, graph);
    expect(done.state.outputs['end']).toEqual(['old', 'new']);
    expect([...new Set(seen)]).toEqual(['old']);
  },
);

// In the second order `b` has settled before `a` began: it had left the queue by then (simulation, seed 23195).
test.each([
  ['read', ['a', 'b']],
  ['read', ['b', 'a']],
  ['pure', ['a', 'b']],
  ['pure', ['b', 'a']],
] as const)(
  'E9 under the policy none a %s activation that is resumed sees what it saw, not what joined its checkpoint later (%j)',
  async (effect, order) => {
    const bench = createBench();
    const graph = graphOf(
      'g',
      [
        node('first', 'pure', () => outcome({ scratch: { x: 'old' } })),
        node('a', effect, async (ctx) => {
          const saw = await ctx.step('look', {}, () => ctx.state.scratch['x']);
          await ctx.receive('go');
          return [saw, ctx.state.scratch['x']];
        }),
        node('b', 'pure', () => outcome({ scratch: { x: 'new' } })),
        node('end', 'pure', (ctx) => ctx.state.outputs['a']),
      ],
      edges('> first', ...order.map((id) => `first > ${id}`), 'a > end', 'b > end', 'end >'),
      { policies: { checkpoint: 'none' } },
    );
    const paused = await runToRest(bench.engine, graph);
    const next = afterCrash(bench);
    await next.signal(paused.runId, 'go', 1);
    expect((await resumeToRest(next, paused.runId, graph)).state.outputs['end']).toEqual(['old', 'old']);
  },
);

test('P2 a function that returns before an effect it began has ended is settled after it', async () => {
  const { engine } = createBench();
  const ended: string[] = [];
  const write = async (ctx: NodeContext, name: string, turns: number): Promise<string> =>
    ctx.step(name, { effect: 'write', input: name }, async () => {
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      ended.push(name);
      return name;
    });
  const graph = graphOf(
    'g',
    [
      node('a', 'read', (ctx) => Promise.race([write(ctx, 'slow', 20), write(ctx, 'fast', 1)])),
      node('b', 'pure', () => [...ended]),
    ],
    edges('> a', 'a > b', 'b >'),
  );
  const result = await runToRest(engine, graph);
  expect(result.state.outputs).toEqual({ a: 'fast', b: ['fast', 'slow'] });
});

test('E9 what steps, answers and saves give is frozen, as it was recorded and as it is read back', async () => {
  const bench = createBench();
  const frozen: boolean[][] = [];
  const graph = single(async (ctx) => {
    if (ctx.savedState === undefined) await ctx.save({ in: {} });
    const stepped = await ctx.step('s', {}, () => ({ in: {} }));
    await ctx.ask({ name: 'first', prompt: '?' });
    const answer = await ctx.ask({ name: 'second', prompt: '?' });
    const given = [ctx.savedState, stepped, answer] as readonly { readonly in: object }[];
    await ctx.ask({ name: 'third', prompt: '?' });
    frozen.push(given.map((value) => Object.isFrozen(value) && Object.isFrozen(value.in)));
  });
  let { waits } = await runToRest(bench.engine, graph, {}, 'r');
  for (const value of [{}, { in: {} }, {}]) {
    await bench.engine.answer('r', waits[0]?.waitId ?? '', value);
    ({ waits } = await resumeToRest(afterCrash(bench), 'r', graph));
  }
  expect(frozen).toEqual([[true, true, true]]);
});

test.each([
  ['one of a node', () => new NodeFailure('no room', { code: 'FULL', applied: 'no', data: { left: 0 } })],
  ['one of ours', () => new CairnError('RUN_NOT_FOUND', { runId: 'other' })],
  [
    "a user's own",
    () => Object.assign(new RangeError('too far', { cause: new Error('inner') }), { code: 'FAR', secret: 1 }),
  ],
])('P1 X4.4 a function that is repeated meets the failure of a step as it met it first: %s', async (_, make) => {
  const met: unknown[] = [];
  const describeFailure = (error: unknown): unknown => {
    const { name, message, code, data, applied, cause, secret } = error as Error & Record<string, unknown>;
    const classes = [error instanceof NodeFailure, CairnError.is(error)];
    return { name, message, code, data, applied, cause: (cause as Error | undefined)?.message, secret, classes };
  };
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', async (ctx) => {
        await ctx
          .step('fails', { effect: 'read' }, () => Promise.reject(make()))
          .catch((error: unknown) => met.push(describeFailure(error)));
        return ctx.ask({ prompt: '?' });
      }),
    ],
    edges('> a', 'a >'),
  );
  const bench = createBench();
  const { runId, waits } = await runToRest(bench.engine, graph);
  const engine = afterCrash(bench);
  await engine.answer(runId, waits[0]?.waitId ?? '', 'go');
  expect((await resumeToRest(engine, runId, graph)).status).toBe('completed');
  const first = make() as Error & { readonly data?: unknown; readonly applied?: unknown };
  expect(met).toHaveLength(2);
  expect(met[1]).toEqual(met[0]);
  expect(met[0]).toMatchObject({
    name: first.name,
    message: first.message,
    data: first.data,
    applied: first.applied,
    classes: [first instanceof NodeFailure, CairnError.is(first)],
    secret: undefined,
  });
});

test('X4.14 an attempt that was told to fail does, whatever its function returns or throws after', async () => {
  const ends: readonly (() => unknown)[] = [
    () => 'fine',
    () => {
      throw new Error('another');
    },
  ];
  for (const end of ends) {
    let isBroken = true;
    const composed = async (ctx: NodeContext): Promise<unknown> => {
      if (isBroken) ctx.fail(new NodeFailure('the first', { code: 'FIRST' }));
      if (isBroken) ctx.fail(new NodeFailure('the second', { code: 'SECOND' }));
      await ctx.step('after', {}, () => 1);
      return isBroken ? end() : 'done';
    };
    const bench = createBench();
    const graph = graphOf('g', [node('a', 'read', composed)], edges('> a', 'a >'));
    const failed = await runToRest(bench.engine, graph);
    expect([failed.status, failed.error?.cause]).toMatchObject(['failed', { code: 'FIRST', message: 'the first' }]);
    isBroken = false;
    expect((await resumeToRest(bench.engine, failed.runId, graph)).state.outputs).toEqual({ a: 'done' });
  }
});
