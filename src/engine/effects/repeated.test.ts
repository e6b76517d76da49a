import { expect, test } from 'vitest';
import { functionNode } from '../../nodes/function-node.ts';
import type { Graph } from '../../graph/graph.ts';
import { afterCrash, createBench, edges, graphOf, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
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
  const part = { kind: 'repeat', node: ['pay'], effect: 'pure', isDeclared: false };
  expect(await repeatsOf(ofNode())).toEqual({ repeated: ['pay'], streamed: [part], inStory: [undefined] });
});

test('P2 only the step that was under way is told, not what is on record or comes after it', async () => {
  const part = { kind: 'repeat', node: ['pay'], step: 'charge', effect: 'pure', isDeclared: false };
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

test('H3 whether the class is declared is no part of the graph’s hash', () => {
  expect(ofNode()(() => 1).hash).toBe(ofNode({ effectClass: 'pure' })(() => 1).hash);
});
