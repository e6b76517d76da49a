/** Effects in doubt: what a person, the node type or the owner's end decide (X, X3, O2). */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { until } from '../../../test/support/awaited.ts';
import { NodeFailure, outcome, type Reconciliation } from '../../graph/contracts/node-contract.ts';
import { createEngine } from '../engine.ts';
import { createEngineWorker } from '../worker.ts';
import { decide, ofNode, ofStep } from '../../../test/doubt-kit.ts';
import { killableEngine, killedInEffect } from '../../../test/dying-engine.ts';
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

type Graph = ReturnType<typeof graphOf>;
const never = new Promise<never>(() => {});

test.each([
  ['node', ofNode],
  ['step', ofStep],
])('X what a person decides about a %s in doubt is done, and nothing else', async (_, make) => {
  const happened = await killedInEffect(make);
  const told = await decide(happened.bench, happened.graph, { decision: 'happened', output: 'told' });
  expect([told.state.outputs['a'], happened.calls()]).toEqual(['told', 1]);
  const again = await killedInEffect(make);
  expect((await decide(again.bench, again.graph, 'run again')).state.outputs['a']).toBe('call 2');
  const failed = await killedInEffect(make);
  const result = await decide(failed.bench, failed.graph, 'fail');
  expect([result.status, failed.calls()]).toEqual(['failed', 1]);
  expect(result.error?.cause).toMatchObject({ code: 'EFFECT_IN_DOUBT' });
});

test.each([
  ['node', (run: () => unknown) => graphOf('g', [node('a', 'write', run, { onInDoubt: 'fail' })], edges('> a', 'a >'))],
  [
    'step',
    (run: () => unknown) =>
      graphOf(
        'g',
        [node('a', 'read', (ctx) => ctx.step('s', { effect: 'write' }, run), { onInDoubt: 'fail' })],
        edges('> a', 'a >'),
      ),
  ],
])('X a %s in doubt fails instead of asking, where its node says so', async (_, make) => {
  const { bench, graph, calls } = await killedInEffect(make);
  const result = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([result.status, result.waits, calls()]).toEqual(['failed', [], 1]);
  expect(result.error?.cause).toMatchObject({ code: 'EFFECT_IN_DOUBT' });
  expect((await resumeToRest(afterCrash(bench), 'r', graph)).status).toBe('failed');
  expect(calls()).toBe(1);
});

test('X3 who is asked about an effect is told which node and step it is, and what it says about itself', async () => {
  const saying = (about: string) => (run: () => unknown) =>
    graphOf('g', [node('a', 'read', (ctx) => ctx.step('s', { effect: 'write', about }, run))], edges('> a', 'a >'));
  const promptOf = async (make: (run: () => unknown) => Graph): Promise<string | undefined> => {
    const { bench, graph } = await killedInEffect(make);
    return (await resumeToRest(afterCrash(bench), 'r', graph)).waits[0]?.prompt;
  };
  const asked = (what: string): string => `It is not known whether this write effect happened: ${what}. Did it?`;
  expect(await promptOf(ofNode)).toBe(asked('a'));
  expect(await promptOf(ofStep)).toBe(asked('a, step s'));
  expect(await promptOf(saying('mail to ada'))).toBe(asked('a: mail to ada'));
  expect(await promptOf(saying(`${'x'.repeat(499)}😀`))).toBe(asked(`a: ${'x'.repeat(499)}\u{fffd}… [501 characters]`));
});

test.each([
  ['node', (run: () => unknown) => ofNode(run)],
  ['step', (run: () => unknown) => ofStep(run)],
])('X3 who is asked about a %s that reported a failure is told which, by any process', async (place, make) => {
  const bench = createBench();
  const graph = make(() => {
    throw new NodeFailure(`exit code 1: ${'x'.repeat(486)}😀 and more`, { applied: 'ended' });
  });
  await runToRest(bench.engine, graph, {}, 'r');
  const what = place === 'node' ? 'a' : 'a, step s';
  const expected = `This write effect reported a failure, and may have done a part of its work: ${what}: exit code 1: ${'x'.repeat(486)}\u{fffd}…\nDid it happen?`;
  const first = await resumeToRest(bench.engine, 'r', graph);
  const then = await resumeToRest(afterCrash(bench), 'r', graph);
  for (const { waits } of [first, then]) expect(waits.map(({ prompt }) => prompt)).toEqual([expected]);
});

test('W3 a decision that is none is refused, and the doubt stays', async () => {
  const { bench, graph } = await killedInEffect(ofNode);
  const paused = await resumeToRest(afterCrash(bench), 'r', graph);
  const waitId = paused.waits[0]?.waitId ?? '';
  for (const answer of ['perhaps', { decision: 'perhaps' }, {}, 7])
    await expect(bench.engine.answer('r', waitId, answer)).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  expect((await resumeToRest(afterCrash(bench), 'r', graph)).waits[0]?.waitId).toBe(waitId);
});

test.each([
  ['happened', { happened: true, output: 'found' } as const, 'found', 1],
  ['did not happen', { happened: false } as const, 'call 2', 2],
])(
  'X a node and a step in doubt whose reconcile says that it %s go on by themselves',
  async (_, found, output, calls) => {
    const reconcile = (): typeof found => found;
    const makers = [
      (run: () => unknown) =>
        graphOf('g', [node('a', 'write', run, { implementation: { run, reconcile } })], edges('> a', 'a >')),
      (run: () => unknown) =>
        graphOf(
          'g',
          [node('a', 'read', (ctx) => ctx.step('s', { effect: 'write', reconcile }, run))],
          edges('> a', 'a >'),
        ),
    ];
    for (const make of makers) {
      const doubt = await killedInEffect(make);
      const done = await resumeToRest(afterCrash(doubt.bench), 'r', doubt.graph);
      expect([done.state.outputs['a'], doubt.calls()]).toEqual([output, calls]);
    }
  },
);

test('X an idempotent node and an idempotent step in doubt are tried again under the same key', async () => {
  const makers = [
    (run: (key: string) => unknown) =>
      graphOf('g', [node('a', 'write', (ctx) => run(ctx.idempotencyKey), { idempotent: true })], edges('> a', 'a >')),
    (run: (key: string) => unknown) =>
      graphOf(
        'g',
        [
          node('a', 'read', (ctx) =>
            ctx.step('s', { effect: 'write', idempotent: true }, (step) => run(step.idempotencyKey)),
          ),
        ],
        edges('> a', 'a >'),
      ),
  ];
  for (const make of makers) {
    const keys: string[] = [];
    const doubt = await killedInEffect((run) => make((key) => (keys.push(key), run())));
    expect((await resumeToRest(afterCrash(doubt.bench), 'r', doubt.graph)).state.outputs['a']).toBe('call 2');
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  }
});

test('X a reconcile that throws fails the activation; a resume asks it again', async () => {
  let isBroken = true;
  const reconcile = (): { happened: true; output: string } => {
    if (isBroken) throw new Error('cannot ask');
    return { happened: true, output: 'found' };
  };
  const doubt = await killedInEffect((run) =>
    graphOf('g', [node('a', 'write', run, { implementation: { run, reconcile } })], edges('> a', 'a >')),
  );
  const failed = await resumeToRest(afterCrash(doubt.bench), 'r', doubt.graph);
  expect(failed.error?.message).toContain('cannot ask');
  isBroken = false;
  const done = await resumeToRest(afterCrash(doubt.bench), 'r', doubt.graph);
  expect([done.state.outputs['a'], doubt.calls()]).toEqual(['found', 1]);
});

test('O2 an effect whose owner is not known to be gone is judged only after its deadline', async () => {
  const bench = createBench();
  const begunAt: number[] = [];
  const begin = (now: number): Promise<never> => {
    begunAt.push(now);
    return never;
  };
  const graph = graphOf(
    'g',
    [node('a', 'write', (ctx) => begin(ctx.now()), { timeoutMs: 60_000 })],
    edges('> a', 'a >'),
  );
  const { engine, kill } = killableEngine(bench);
  await engine.start(graph, {}, { runId: 'r' });
  await until('the effect begins', () => begunAt.length > 0);
  kill();
  bench.clock.timeMs += 31_000;
  const unsure = createEngine({ ...bench.options, ids: testIds('worker-2') });
  const paused = await resumeToRest(unsure, 'r', graph);
  expect(paused.waits.map(({ kind }) => kind)).toEqual(['doubt']);
  expect(bench.clock.timeMs).toBeGreaterThanOrEqual((begunAt[0] ?? 0) + 60_000);
  expect(begunAt).toHaveLength(1);
});

test('X3 a person is asked about the second step of a name by its count', async () => {
  const { bench, graph } = await killedInEffect((run) =>
    graphOf(
      'g',
      [
        node('a', 'read', async (ctx) => {
          await ctx.step('mail', {}, () => 1);
          return ctx.step('mail', { effect: 'write' }, run);
        }),
      ],
      edges('> a', 'a >'),
    ),
  );
  const paused = await resumeToRest(afterCrash(bench), 'r', graph);
  expect(paused.waits[0]?.prompt).toBe('It is not known whether this write effect happened: a, step mail 2. Did it?');
});

test('O2.5 an owner that dies while its effect is waited for holds it up no longer', async () => {
  const bench = createBench({ bounds: { effectMs: 600_000 } });
  let isBegun = false;
  const begin = (): Promise<never> => {
    isBegun = true;
    return never;
  };
  const graph = ofNode(begin);
  const { engine, kill } = killableEngine(bench);
  await engine.start(graph, {}, { runId: 'r' });
  await until('the effect begins', () => isBegun);
  kill();
  bench.clock.timeMs += 31_000;
  // Alive for some time after its claim is lost, as a process is that was stopped and goes on.
  const diesAt = bench.clock.timeMs + 5_000;
  const ids = { ...testIds('worker-2'), isWorkerDead: () => bench.clock.timeMs >= diesAt };
  const paused = await resumeToRest(createEngine({ ...bench.options, ids }), 'r', graph);
  expect(paused.waits.map(({ kind }) => kind)).toEqual(['doubt']);
  expect([bench.clock.timeMs >= diesAt, bench.clock.timeMs < diesAt + 1_000]).toEqual([true, true]);
});

test.each(['node', 'step'])(
  'O2 a resume that waits for the owner of an open effect (of a %s) says so at once: for whom, and until when',
  async (kind) => {
    const bench = createBench();
    let begunAt = 0;
    const begin = (now: number): Promise<never> => {
      begunAt = now;
      return never;
    };
    const pay =
      kind === 'node'
        ? node('pay', 'write', (ctx) => begin(ctx.now()), { timeoutMs: 60_000 })
        : node('pay', 'read', (ctx) => ctx.step('s', { effect: 'write', timeoutMs: 60_000 }, () => begin(ctx.now())));
    const graph = graphOf('g', [pay], edges('> pay', 'pay >'));
    const { engine, kill } = killableEngine(bench);
    await engine.start(graph, {}, { runId: 'r' });
    await until('the effect begins', () => begunAt > 0);
    kill();
    bench.clock.timeMs += 31_000;
    const handle = await createEngine({ ...bench.options, ids: testIds('worker-2') }).resume('r', { graph });
    const firstHold = async (): Promise<unknown> => {
      for await (const event of handle.events())
        if (event.type === 'waiting' && (event.detail as { owner?: string }).owner !== undefined)
          return [event.node, event.detail, bench.clock.timeMs < begunAt + 60_000];
      return 'never said';
    };
    // It may have begun as late as a lease after it was announced. At its deadline it is told to stop, and has the grace to do so.
    const told = [['pay'], { owner: 'worker-1', until: begunAt + 10_000 + 65_000 }, true];
    expect(await firstHold()).toEqual(told);
    // Who comes later is told, too.
    expect(await firstHold()).toEqual(told);
    expect((await handle.result()).waits.map((wait) => wait.kind)).toEqual(['doubt']);
  },
);

test('W5 a worker tells of a run it cannot advance, goes on with others, and stops when told to', async () => {
  const bench = createBench();
  const good = graphOf('good', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const unknown = graphOf('unknown', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  for (const graph of [unknown, good]) await bench.engine.start(graph, {}, { runId: graph.id, detach: true });
  const engine = createEngine({
    ...bench.options,
    ids: testIds('worker-2'),
    findGraph: (id) => (id === 'good' ? good : undefined),
  });
  const faults: [string, unknown][] = [];
  const worker = createEngineWorker({
    engine,
    clock: { ...bench.clock, setTimer: () => () => {} },
    concurrency: 2,
    onError: (runId, error) => faults.push([runId, (error as { code: unknown }).code]),
  });
  await expect
    .poll(async () => (await bench.store.readRun({ tenant: 'default', runId: 'good' }))?.status)
    .toBe('completed');
  await worker.stop();
  expect(faults).toEqual([['unknown', 'CONFIG_INVALID']]);
  expect(await worker.look()).toBe(0);
});

test('W5 a worker whose store is away says so, and looks again', async () => {
  const memory = createBench().store;
  const faults: string[] = [];
  let isAway = true;
  let timers = 0;
  const claimNext: typeof memory.claimNext = (query) =>
    isAway ? Promise.reject(new Error('away')) : memory.claimNext(query);
  const bench = createBench({ store: { ...memory, claimNext } });
  const worker = createEngineWorker({
    engine: bench.engine,
    clock: {
      ...bench.clock,
      setTimer: (delayMs, callback) => {
        // The worker also tells that it is alive.
        if (delayMs !== 1_000) return () => {};
        timers += 1;
        if (timers === 1) setImmediate(() => ((isAway = false), callback()));
        return () => {};
      },
    },
    onError: (runId, error) => faults.push(`${runId}${String(error)}`),
  });
  await expect.poll(() => timers).toBe(2);
  await worker.stop();
  expect(faults).toEqual(['Error: away']);
});

/** A charge that marks the state as paid; what follows reads that. */
const charging = (
  run: () => unknown,
  reconcile?: NonNullable<Graph['nodes'][0]>['implementation']['reconcile'],
): Graph =>
  graphOf(
    'g',
    [
      { ...node('a', 'external', run), implementation: { run, ...(reconcile && { reconcile }) } },
      node('ship', 'pure', () => 'shipped'),
      node('remind', 'pure', () => 'reminded'),
    ],
    [
      ...edges('> a', 'ship >', 'remind >'),
      { from: 'a', to: 'ship', condition: { text: 'paid', evaluate: ({ state }) => state.scratch['paid'] === true } },
      {
        from: 'a',
        to: 'remind',
        condition: { text: 'unpaid', evaluate: ({ state }) => state.scratch['paid'] !== true },
      },
    ],
    { reducers: { 'scratch.log': 'append' } },
  );

test('X3 a person who says that a node happened gives its updates too: they pass the reducers and decide the route', async () => {
  const { bench, graph, calls } = await killedInEffect(charging);
  const updates = { scratch: { paid: true, log: ['charged'] } };
  const result = await decide(bench, graph, { decision: 'happened', output: 'receipt 7', updates });
  expect(result.state.outputs).toEqual({ a: 'receipt 7', ship: 'shipped' });
  expect([result.state.scratch, calls()]).toEqual([{ paid: true, log: ['charged'] }, 1]);
});

test('X3 the question says what may be given, and a step takes no updates', async () => {
  const ofA = await killedInEffect(charging);
  const asked = await resumeToRest(afterCrash(ofA.bench), 'r', ofA.graph);
  expect(JSON.stringify(asked.waits[0]?.schema)).toContain('"scratch"');
  const wrong = { decision: 'happened', updates: { elsewhere: {} } };
  await expect(ofA.bench.engine.answer('r', asked.waits[0]?.waitId ?? '', wrong)).rejects.toMatchObject({
    code: 'ANSWER_INVALID',
  });
  const step = await killedInEffect(ofStep);
  const paused = await resumeToRest(afterCrash(step.bench), 'r', step.graph);
  const given = { decision: 'happened', updates: { scratch: {} } };
  await expect(step.bench.engine.answer('r', paused.waits[0]?.waitId ?? '', given)).rejects.toMatchObject({
    code: 'ANSWER_INVALID',
  });
});

test('X3 a person whose updates the state does not take is asked again, with the reason, and nothing is lost', async () => {
  const schemas = {
    scratch: z.object({ paid: z.boolean() }),
  };
  const make = (run: () => unknown): Graph =>
    graphOf('g', [node('a', 'external', run)], edges('> a', 'a >'), { schemas });
  const { bench, graph, calls } = await killedInEffect(make);
  const again = await decide(bench, graph, { decision: 'happened', output: 1, updates: { scratch: { paid: 'yes' } } });
  expect(again.status).toBe('paused');
  expect(again.waits.map(({ kind, prompt }) => [kind, prompt?.includes('does not fit')])).toEqual([['doubt', true]]);
  const result = await decide(bench, graph, { decision: 'happened', output: 1, updates: { scratch: { paid: true } } });
  expect([result.status, result.state.scratch, calls()]).toEqual(['completed', { paid: true }, 1]);
});

test('X3 a reconcile of any node may give an outcome: its updates are taken in as those of the node', async () => {
  const reconcile = (): Reconciliation => ({
    happened: true,
    output: outcome({ output: 'receipt 7', scratch: { paid: true } }),
  });
  const { bench, graph, calls } = await killedInEffect((run) => charging(run, reconcile));
  const result = await resumeToRest(afterCrash(bench), 'r', graph);
  expect(result.state.outputs).toEqual({ a: 'receipt 7', ship: 'shipped' });
  expect(calls()).toBe(1);
});
