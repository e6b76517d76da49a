import { expect, test } from 'vitest';
import { functionNode } from '../../nodes/function-node.ts';
import type { Graph } from '../../graph/graph.ts';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
} from '../../../test/engine-kit.ts';
import { killedInEffect, settleDown } from '../../../test/dying-engine.ts';

type Options = Parameters<typeof functionNode>[1];

const ofNode =
  (options?: Options) =>
  (effect: () => unknown): Graph =>
    graphOf('charge', [{ id: 'pay', ...functionNode(() => effect(), options) }], edges('> pay', 'pay >'));

const ofStep =
  (options: { readonly effect?: 'pure' | 'read' }) =>
  (effect: () => unknown): Graph =>
    graphOf(
      'charge',
      [
        {
          id: 'pay',
          ...functionNode(
            async (ctx) => {
              await ctx.step('look', options, () => 1);
              await settleDown();
              const paid = await ctx.step('charge', options, () => effect());
              await settleDown();
              await ctx.step('mail', options, () => 1);
              return paid;
            },
            { effectClass: 'pure' },
          ),
        },
      ],
      edges('> pay', 'pay >'),
    );

async function repeatsOf(make: (effect: () => unknown) => Graph) {
  const { bench, graph, calls } = await killedInEffect(make);
  const engine = afterCrash(bench);
  const handle = await engine.resume('r', { graph });
  const streamed: unknown[] = [];
  for await (const event of handle.events())
    if (event.type === 'checkpoint') streamed.push(...event.change.filter(({ kind }) => kind === 'repeat'));
  const { status, repeated } = await handle.result();
  expect([status, calls()]).toEqual(['completed', 2]);
  const { entries } = await engine.history.postMortem('r');
  const repeats = entries.flatMap((entry) => (entry.kind === 'visit' ? (entry.repeats ?? []) : []));
  return { repeated, streamed, inStory: repeats.map(({ step }) => step) };
}

test('P2 a node that declares no effect class and is begun again after a kill is told in the result, the stream and the story', async () => {
  const key: unknown = expect.stringMatching(/^k/);
  const part = { kind: 'repeat', node: ['pay'], attempt: 1, effect: 'pure', isDeclared: false, key };
  expect(await repeatsOf(ofNode())).toEqual({ repeated: ['pay'], streamed: [part], inStory: [undefined] });
});

test('P2 only the step that was under way is told, not what is on record or comes after it', async () => {
  const key: unknown = expect.stringMatching(/^k/);
  const about = { attempt: 1, effect: 'pure', isDeclared: false, key };
  const part = { kind: 'repeat', node: ['pay'], step: 'charge', ...about };
  expect(await repeatsOf(ofStep({}))).toEqual({ repeated: ['pay/charge'], streamed: [part], inStory: ['charge'] });
});

test('P2 what declares its class is begun again without a word', async () => {
  for (const make of [ofNode({ effectClass: 'pure' }), ofNode({ effectClass: 'read' }), ofStep({ effect: 'pure' })])
    expect(await repeatsOf(make)).toEqual({ repeated: undefined, streamed: [], inStory: [] });
});

test('P2 a run that nobody interrupted, and one that goes on after a pause, repeat nothing', async () => {
  const graph = graphOf(
    'asks',
    [
      { id: 'first', ...functionNode(() => 1) },
      {
        id: 'ask',
        ...functionNode(async (ctx) => [await ctx.ask({ prompt: 'Go on?' }), await ctx.step('after', {}, () => 2)]),
      },
    ],
    edges('> first', 'first > ask', 'ask >'),
  );
  const bench = createBench();
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect([paused.status, paused.repeated]).toEqual(['paused', undefined]);
  const engine = afterCrash(bench);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const done = await resumeToRest(engine, 'r', graph);
  expect([done.status, done.repeated]).toEqual(['completed', undefined]);
});

test('P2 a run that was started for a worker, or that a process gave back before it began, repeats nothing', async () => {
  const graph = ofNode()(() => 1);
  const bench = createBench({ findGraph: () => graph });
  await bench.engine.start(graph, {}, { runId: 'r', detach: true });
  const [taken] = await afterCrash(bench).takeUp({ limit: 1 });
  const result = await (await taken?.handle)?.result();
  expect([result?.status, result?.repeated]).toEqual(['completed', undefined]);
  expect((await changesOf(bench.engine, 'r')).join(' + ')).not.toMatch(/repeat/);
});

test('P2 a node without a class that runs when its process gives the run back is told when it is begun again', async () => {
  const begun = Promise.withResolvers<void>();
  let calls = 0;
  const graph = ofNode()(() => {
    calls += 1;
    if (calls > 1) return 'paid';
    begun.resolve();
    return new Promise(() => {});
  });
  const bench = createBench({ findGraph: () => graph });
  (await bench.engine.start(graph, {}, { runId: 'r' })).result().catch(() => {});
  await begun.promise;
  await bench.engine.close();
  const next = afterCrash(bench);
  const result = await resumeToRest(next, 'r', graph);
  expect([result.status, result.repeated, calls]).toEqual(['completed', ['pay'], 2]);
  const { entries } = await next.history.postMortem('r');
  expect(entries.flatMap((entry) => (entry.kind === 'visit' ? (entry.repeats ?? []) : []))).toMatchObject([
    { by: 'default', attempt: 1 },
  ]);
});

const unknownEnds: Readonly<Record<string, { options: object; by: string }>> = {
  'is declared idempotent': { options: { idempotent: true }, by: 'idempotent' },
  'has not happened, by its lookup': {
    options: { reconcile: () => ({ happened: false }) },
    by: 'reconcile',
  },
};

test.each(
  Object.entries(unknownEnds).flatMap(([name, way]) => [['node', name, way] as const, ['step', name, way] as const]),
)(
  'P2 an effect (of a %s) that %s and is begun again is told with why, whose process, which attempt and which key',
  async (form, _, { options, by }) => {
    const keys: string[] = [];
    const { bench, graph, calls } = await killedInEffect((effect) =>
      form === 'node'
        ? graphOf(
            'g',
            [
              {
                id: 'pay',
                ...functionNode(
                  (ctx) => {
                    keys.push(ctx.idempotencyKey);
                    return effect();
                  },
                  { effectClass: 'external', ...options },
                ),
              },
            ],
            edges('> pay', 'pay >'),
          )
        : graphOf(
            'g',
            [
              node('pay', 'read', (ctx) =>
                ctx.step('card', { effect: 'external', ...options }, ({ idempotencyKey }) => {
                  keys.push(idempotencyKey);
                  return effect();
                }),
              ),
            ],
            edges('> pay', 'pay >'),
          ),
    );
    const next = afterCrash(bench);
    const result = await resumeToRest(next, 'r', graph);
    expect([result.status, calls()]).toEqual(['completed', 2]);
    const { entries } = await next.history.postMortem('r');
    const repeats = entries.flatMap((entry) => (entry.kind === 'visit' ? (entry.repeats ?? []) : []));
    expect(repeats).toMatchObject([{ by, attempt: 1, worker: 'worker-1', key: keys[0] }]);
    expect(new Set(keys).size).toBe(1);
    expect(result.spent).toEqual({});
  },
);

test('P2 Q2 a call that is made again since its answer was lost is counted among what was spent, as of unknown cost', async () => {
  const { bench, graph } = await killedInEffect((effect) =>
    graphOf(
      'g',
      [
        node('ask', 'read', (ctx) =>
          ctx.step('model', { effect: 'external', idempotent: true, isModelCall: true }, (step) => {
            step.spend({ tokens: 5 });
            return effect();
          }),
        ),
      ],
      edges('> ask', 'ask >'),
    ),
  );
  const result = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([result.status, result.spent]).toEqual(['completed', { unknownCalls: 1, tokens: 5 }]);
});

test('H3 whether the class is declared is no part of the graph’s hash', () => {
  expect(ofNode()(() => 1).hash).toBe(ofNode({ effectClass: 'pure' })(() => 1).hash);
});
