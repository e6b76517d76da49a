import { describe, expect, test } from 'vitest';
import { until } from '../../../test/support/awaited.ts';
import type { Condition, Graph } from '../../graph/graph.ts';
import { outcome } from '../../graph/contracts/node-contract.ts';
import { createEngine } from '../engine.ts';
import { killedInEffect, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';

const big = 'large'.repeat(1_000);
const small = { bounds: { inlineBytes: 1_000 } };
const pause = <T>(value: T): Promise<T> => new Promise((resolve) => setTimeout(resolve, 5, value));

/** Whether any checkpoint of the run holds the large value itself. */
async function holdsLarge(bench: Bench, runId: string): Promise<boolean> {
  const row = await rowOf(bench, runId);
  const rows = await bench.store.readCheckpoints(row, { from: 0, to: row.head });
  return rows.some(({ body }) => Buffer.from(body).toString().includes('largelarge'));
}

const asking = (more: (answer: unknown) => unknown = (answer) => answer): Graph =>
  graphOf('g', [node('ask', 'human', async (ctx) => more(await ctx.ask({ prompt: '?' })))], edges('> ask', 'ask >'));

describe('C5 large values are kept as blobs', () => {
  test('C5 answers', async () => {
    const bench = createBench(small);
    const graph = asking((answer) => String(answer).length);
    const { runId, waits } = await runToRest(bench.engine, graph);
    await bench.engine.answer(runId, waits[0]?.waitId ?? '', big);
    expect((await resumeToRest(afterCrash(bench), runId, graph)).state.outputs['ask']).toBe(big.length);
    expect(await holdsLarge(bench, runId)).toBe(false);
  });

  test('C5 what a person says of an effect in doubt', async () => {
    const make = (effect: () => unknown): Graph =>
      graphOf('g', [node('a', 'read', (ctx) => ctx.step('pay', { effect: 'write' }, effect))], edges('> a', 'a >'));
    const { bench, graph } = await killedInEffect(make, createBench(small));
    const { waits } = await resumeToRest(afterCrash(bench), 'r', graph);
    await bench.engine.answer('r', waits[0]?.waitId ?? '', { decision: 'happened', output: big });
    expect((await resumeToRest(afterCrash(bench), 'r', graph)).state.outputs['a']).toBe(big);
    expect(await holdsLarge(bench, 'r')).toBe(false);
  });

  test('C5 signals, those that come early too, in order of arrival', async () => {
    const bench = createBench(small);
    const graph = graphOf(
      'g',
      [
        node('a', 'human', async (ctx) => {
          await ctx.receive('go');
          const got = [await ctx.receive('go'), await ctx.receive('go'), await ctx.receive('go')];
          return got.map((value) => String(value).length);
        }),
      ],
      edges('> a', 'a >'),
    );
    const { runId } = await runToRest(bench.engine, graph);
    for (const value of [big, `${big}1`, 'x', `${big}22`]) await bench.engine.signal(runId, 'go', value);
    const done = await resumeToRest(afterCrash(bench), runId, graph);
    expect(done.state.outputs['a']).toEqual([big.length + 1, 1, big.length + 2]);
    expect(await holdsLarge(bench, runId)).toBe(false);
  });

  test('C5 what ctx.save keeps, and the input of a child', async () => {
    const bench = createBench(small);
    const child = graphOf('c', [node('in', 'pure', (ctx) => String(ctx.input).length)], edges('> in', 'in >'));
    const graph = graphOf(
      'g',
      [
        node('a', 'read', async (ctx) => {
          const { state } = await ctx.run(child, big);
          if (ctx.savedState === undefined) await ctx.save({ kept: big, seen: state.outputs['in'] });
          await ctx.ask({ prompt: '?' });
          return ctx.savedState === undefined
            ? undefined
            : { length: (ctx.savedState as { kept: string }).kept.length };
        }),
      ],
      edges('> a', 'a >'),
    );
    const { runId, waits } = await runToRest(bench.engine, graph);
    await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
    const done = await resumeToRest(afterCrash(bench), runId, graph);
    expect(done.state.outputs['a']).toEqual({ length: big.length });
    expect(await holdsLarge(bench, runId)).toBe(false);
  });

  test('C5 what a fork patches, supplies and answers, and what it takes over', async () => {
    const bench = createBench(small);
    const graph = graphOf(
      'g',
      [
        node('first', 'pure', () => outcome({ scratch: { x: 'x' }, output: 1 })),
        node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
        node('last', 'pure', ({ state, input }) =>
          [state.scratch['x'], state.outputs['ask'], state.outputs['first'], input].map(
            (value) => String(value).length,
          ),
        ),
      ],
      edges('> first', 'first > ask', 'ask > last', 'last >'),
    );
    const { runId, seq } = await runToRest(bench.engine, graph);
    const fork = await bench.engine.fork(
      { runId, seq },
      {
        set: [
          { path: ['scratch', 'x'], value: big },
          { path: ['input'], value: big },
        ],
        answers: { ask: big },
      },
    );
    const done = await resumeToRest(afterCrash(bench), fork.runId, graph);
    expect(done.state.outputs['last']).toEqual([big.length, big.length, 1, big.length]);
    const supplied = await bench.engine.fork({ runId, seq: 1 }, { set: [{ path: ['outputs', 'first'], value: big }] });
    expect((await resumeToRest(afterCrash(bench), supplied.runId, graph)).state.outputs['first']).toBe(big);
    const replayed = await bench.engine.fork({ runId: fork.runId, seq: 0 });
    await resumeToRest(afterCrash(bench), replayed.runId, graph);
    for (const id of [fork.runId, supplied.runId, replayed.runId])
      expect([id, await holdsLarge(bench, id)]).toEqual([id, false]);
  });

  test('X2 an outcome that a fork takes over or sets is taken once its value is kept, though the process dies in between', async () => {
    const bench = createBench(small);
    let calls = 0;
    const graph = graphOf(
      'g',
      [node('w', 'write', () => ((calls += 1), big)), node('side', 'read', () => pause('side'))],
      edges('> w', '> side', 'w >', 'side >'),
    );
    const { runId } = await runToRest(bench.engine, graph);
    const set = [{ path: ['outputs', 'w'], value: `${big}!` }];
    for (const [options, expected] of [[{}, big] as const, [{ set }, `${big}!`] as const]) {
      const fork = await bench.engine.fork({ runId, seq: 0 }, options);
      const put = (): Promise<string> => new Promise(() => {});
      const stuck = createEngine({ ...bench.options, blobs: { ...bench.options.blobs, put } });
      await stuck.resume(fork.runId, { graph });
      await until('what runs beside it is recorded', async () => (await rowOf(bench, fork.runId)).head > fork.seq, 5);
      await settleDown();
      const done = await resumeToRest(afterCrash(bench), fork.runId, graph);
      expect([calls, done.state.outputs['w'] === expected, done.state.outputs['side']]).toEqual([1, true, 'side']);
    }
  });

  test('C5 an output that stays when its node is skipped, or when a fork takes its decision again', async () => {
    const bench = createBench(small);
    const holds = (text: string, evaluate: Condition['evaluate']): Condition => ({ text, evaluate });
    const skipped = graphOf(
      'g',
      [
        node('w', 'pure', () => big, { when: holds('first', ({ state }) => state.scratch['n'] === undefined) }),
        node('c', 'pure', (ctx) => outcome({ scratch: { n: Number(ctx.state.scratch['n'] ?? 0) + 1 } })),
      ],
      [
        ...edges('> w'),
        { from: 'w', to: 'c', always: true },
        { from: 'c', to: 'w', condition: holds('again', ({ state }) => state.scratch['n'] === 1) },
      ],
    );
    const done = await runToRest(bench.engine, skipped);
    expect([done.status, done.state.scratch['n'], done.state.outputs['w'] === big]).toEqual(['completed', 2, true]);
    const routed = graphOf(
      'h',
      [node('a', 'pure', () => big), node('b', 'pure', () => 'b'), node('c', 'pure', () => 'c')],
      [
        ...edges('> a', 'b >', 'c >'),
        { from: 'a', to: 'b', condition: holds('b', ({ state }) => state.scratch['to'] !== 'c') },
        { from: 'a', to: 'c', condition: holds('c', ({ state }) => state.scratch['to'] === 'c') },
      ],
    );
    const { runId } = await runToRest(bench.engine, routed);
    const fork = await bench.engine.fork({ runId, seq: 1 }, { set: [{ path: ['scratch', 'to'], value: 'c' }] });
    const other = await resumeToRest(afterCrash(bench), fork.runId, routed);
    expect([other.state.outputs['c'], other.state.outputs['b']]).toEqual(['c', undefined]);
    for (const id of [done.runId, fork.runId]) expect([id, await holdsLarge(bench, id)]).toEqual([id, false]);
  });

  test('C5 channels that a migration made, and an outcome kept for a retry', async () => {
    const bench = createBench(small);
    const first = graphOf(
      'g',
      [
        node('a', 'pure', () => outcome({ scratch: { x: 'x' } })),
        node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
        node('fails', 'pure', () => outcome({ output: big, scratch: { sum: big } })),
      ],
      edges('> a', 'a > ask', 'ask > fails', 'fails >'),
      { reducers: { 'scratch.sum': 'sum', 'scratch.x': 'last' } },
    );
    const { runId, waits } = await runToRest(bench.engine, first);
    await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
    const second = graphOf(
      'g',
      first.nodes
        .filter(({ index }) => index > 1)
        .map(({ id, effect, implementation: { run } }) => node(id, effect, run)),
      edges('> a', 'a > ask', 'ask > fails', 'fails >'),
      { reducers: { 'scratch.sum': 'sum', 'scratch.x': 'append' } },
    );
    const handle = await bench.engine.resume(runId, { graph: second, migrate: () => ({ scratch: { x: [big] } }) });
    const failed = await handle.result();
    expect([failed.status, failed.state.scratch['x']]).toEqual(['failed', [big]]);
    expect(await holdsLarge(bench, runId)).toBe(false);
  });
});

describe('E8 an outcome over the limit of a checkpoint', () => {
  const limited = (run: (isLarge: () => boolean) => Parameters<typeof node>[2], isLarge: () => boolean): Graph =>
    graphOf('g', [node('a', 'read', run(isLarge))], edges('> a', 'a >'), { policies: { checkpointBytes: 3_000 } });

  test.each([
    ['output', 'outputs.a.log', (isLarge: () => boolean) => () => ({ ok: 1, log: isLarge() ? big : '' })],
    [
      'channel',
      'scratch.x.1',
      (isLarge: () => boolean) => () => outcome({ scratch: { x: ['s', isLarge() ? big : ''] } }),
    ],
    [
      'step',
      'outputs.a.s',
      (isLarge: () => boolean) => (ctx: Parameters<Parameters<typeof node>[2]>[0]) =>
        ctx.step('s', {}, () => (isLarge() ? big : '')),
    ],
    [
      'save',
      'a.saved',
      (isLarge: () => boolean) => (ctx: Parameters<Parameters<typeof node>[2]>[0]) => ctx.save(isLarge() ? big : ''),
    ],
  ])('E8 fails before it is written, naming what is large: %s', async (_, path, run) => {
    const bench = createBench(small);
    let isLarge = true;
    const graph = limited(run, () => isLarge);
    const { status, error, runId } = await runToRest(bench.engine, graph);
    expect(status).toBe('failed');
    expect(error?.cause).toMatchObject({ code: 'CHECKPOINT_TOO_LARGE', data: { limitBytes: 3_000 } });
    const cause = error?.cause as { readonly data: { readonly largest: readonly object[]; readonly bytes: number } };
    const { largest, bytes } = cause.data;
    expect(largest[0]).toEqual({ path, bytes: big.length + 2 });
    expect(bytes).toBeGreaterThan(big.length);
    expect(await holdsLarge(bench, runId)).toBe(false);
    isLarge = false;
    expect((await resumeToRest(bench.engine, runId, graph)).status).toBe('completed');
  });

  test('E8 from four fifths of it on, the history says how near an outcome or a step came', async () => {
    for (const [length, isNear] of [
      [2_300, false],
      [2_500, true],
    ] as const) {
      const text = 'x'.repeat(length);
      const graph = graphOf(
        'g',
        [node('a', 'pure', () => text), node('b', 'pure', (ctx) => ctx.step('s', {}, () => text).then(() => 1))],
        edges('> a', 'a > b', 'b >'),
        { policies: { checkpointBytes: 3_000 } },
      );
      const bench = createBench({ ...small, findGraph: () => graph });
      const { status, runId } = await runToRest(bench.engine, graph);
      expect(status).toBe('completed');
      const measured: unknown[] = [];
      for await (const event of bench.engine.events(runId))
        if (event.type === 'checkpoint') measured.push(...event.change.filter(({ kind }) => kind === 'large'));
      const detail = { bytes: length + 2, limitBytes: 3_000 };
      const near = [
        { kind: 'large', node: ['a'], detail },
        { kind: 'large', node: ['b'], step: expect.stringMatching(/^s/), detail },
      ];
      expect(measured).toEqual(isNear ? near : []);
    }
  });

  test('E8 an input over it admits no run', async () => {
    const bench = createBench();
    const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'), {
      policies: { checkpointBytes: 100 },
    });
    await expect(bench.engine.start(graph, { topic: big }, { runId: 'r' })).rejects.toMatchObject({
      code: 'CHECKPOINT_TOO_LARGE',
      data: { largest: [{ path: 'input.topic', bytes: big.length + 2 }] },
      message: expect.stringMatching(/largest places: input\.topic \d+ bytes$/) as string,
    });
    expect(await bench.store.readRun({ tenant: 'default', runId: 'r' })).toBeUndefined();
  });

  test('E8 the limit of the run holds in its child runs, and a list of small items is one place', async () => {
    const child = graphOf(
      'c',
      [node('in', 'pure', () => Array.from({ length: 2_000 }, () => 'item'))],
      edges('> in', 'in >'),
    );
    const graph = graphOf(
      'g',
      [node('a', 'read', async (ctx) => String((await ctx.run(child, 1)).error?.message))],
      edges('> a', 'a >'),
      { policies: { checkpointBytes: 1_000 } },
    );
    const { state } = await runToRest(createBench().engine, graph);
    expect(state.outputs['a']).toContain('the largest places: outputs.in 14001 bytes');
  });
});
