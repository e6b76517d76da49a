/** Single previews: of what the random ones meet seldom (X5). */
import { expect, test } from 'vitest';
import { type EffectClass, type NodeContext, NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import type { Engine } from '../api.ts';
import { killableEngine } from '../../../test/dying-engine.ts';
import { until } from '../../../test/support/awaited.ts';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';

async function previewed(bench: Bench, graph: Graph, runId: string, seq: number): Promise<readonly string[]> {
  const rows = await bench.engine.preview({ runId, seq }, { graph });
  return rows.map(({ node: path, visit, prediction, because }) =>
    [`${path.join('/')}#${visit}`, prediction, ...(because === undefined ? [] : [because])].join(' '),
  );
}

test('X5 what is tried again later leaves its place to others meanwhile', async () => {
  const fail = (): never => {
    throw new Error('not yet');
  };
  const later = { retry: { attempts: 2, delayMs: 3_600_000, delayMsMax: 3_600_000 } };
  const graph = graphOf(
    'g',
    [node('a', 'read', fail, later), node('b', 'pure', () => 'b')],
    edges('> a', '> b', 'a >', 'b >'),
    {
      policies: { concurrency: 1, checkpoint: 'every_node' },
    },
  );
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, graph);
  const { head } = await rowOf(bench, runId);
  const seqs = Array.from({ length: head }, (_, seq) => seq);
  const previews = await Promise.all(seqs.map((seq) => previewed(bench, graph, runId, seq)));
  const retried = previews.find((rows) => rows.some((row) => row.startsWith('b#1 reused')));
  expect(retried?.[0]).toBe('a#1 runs again');
});

test('X5 a visit over its limit is told to fail, and does', async () => {
  const graph = graphOf(
    'g',
    [node('a', 'pure', () => 'a', { maxVisits: 2 }), node('b', 'pure', () => 'b')],
    [...edges('> a', 'a > b', 'b >'), { from: 'b', to: 'a', condition: { text: 'again', evaluate: () => true } }],
  );
  const bench = createBench();
  const failed = await runToRest(bench.engine, graph);
  expect([failed.status, failed.failed]).toEqual(['failed', ['a']]);
  expect((await previewed(bench, graph, failed.runId, 0)).at(-1)).toBe('a#3 fails RUN_LIMIT');
  const fork = await afterCrash(bench).fork({ runId: failed.runId, seq: 0 });
  expect(await resumeToRest(bench.engine, fork.runId, graph)).toMatchObject({ status: 'failed', failed: ['a'] });
});

test('X5 an outcome that is kept is settled again, not run again', async () => {
  let isBroken = true;
  const graph = graphOf(
    'g',
    [node('a', 'read', () => 'a')],
    [
      {
        from: 'a',
        to: '__end__',
        condition: {
          text: 'fails',
          evaluate: () => {
            if (isBroken) throw new Error('the condition fails');
            return true;
          },
        },
      },
      ...edges('> a'),
    ],
  );
  const bench = createBench();
  const failed = await runToRest(bench.engine, graph);
  expect(failed.status).toBe('failed');
  const { head } = await rowOf(bench, failed.runId);
  expect(await previewed(bench, graph, failed.runId, head)).toEqual(['a#1 fails CONDITION_FAILED']);
  isBroken = false;
  expect(await previewed(bench, graph, failed.runId, head)).toEqual([
    'a#1 restored kept when its reducer or condition failed',
  ]);
});

test('X5 of a function that is run, a preview tells how many of its calls are on record; those are made again only if changed', async () => {
  const made: string[] = [];
  const step = (ctx: NodeContext, name: string, effect: EffectClass, input: unknown): Promise<unknown> =>
    ctx.step(name, { effect, input }, () => made.push(name));
  const make = (question: string): Graph =>
    graphOf(
      'g',
      [
        node('agent', 'pure', async (ctx) => {
          await step(ctx, 'model', 'external', question);
          await step(ctx, 'tool', 'write', 'the same');
          await step(ctx, 'look', 'read', 'the same');
          await ctx.ask({ name: 'go', prompt: 'go on?' });
        }),
      ],
      edges('> agent', 'agent >'),
    );
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, make('what?'));
  const other = make('which?');
  const rows = await bench.engine.preview({ runId, seq: 0 }, { graph: other });
  expect(rows).toMatchObject([{ node: ['agent'], prediction: 'runs', callsOnRecord: 2 }]);
  const { head } = await rowOf(bench, runId);
  expect(await bench.engine.preview({ runId, seq: head }, { graph: other })).toMatchObject([
    { node: ['agent'], prediction: 'runs again', callsOnRecord: 3 },
  ]);

  made.length = 0;
  const fork = await bench.engine.fork({ runId, seq: 0 }, { graph: other });
  await resumeToRest(bench.engine, fork.runId, other);
  expect(made).toEqual(['model', 'look']);
});

test('X5 a question whose answer is on record is not asked by a fork, and its preview says so', async () => {
  let isBroken = true;
  const run = async (ctx: NodeContext): Promise<unknown> => {
    const answer = await ctx.ask({ prompt: 'Go on?' });
    if (isBroken) throw new Error('the answer is of no use');
    return answer;
  };
  const graph = graphOf('g', [node('a', 'human', run)], edges('> a', 'a >'));
  const bench = createBench();
  const { runId, waits } = await runToRest(bench.engine, graph);
  await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(bench.engine, runId, graph)).status).toBe('failed');
  expect(await previewed(bench, graph, runId, 0)).toEqual(['a#1 runs again']);
  isBroken = false;
  const fork = await afterCrash(bench).fork({ runId, seq: 0 });
  const done = await resumeToRest(bench.engine, fork.runId, graph);
  expect([done.status, done.waits, done.state.outputs['a']]).toEqual(['completed', [], 'yes']);
});

test('X5 what continues earlier work has room in its turn only, so that effects before it are taken over first', async () => {
  const pay = ({ attempt }: NodeContext): string => {
    if (attempt === 1) throw new NodeFailure('not yet', { applied: 'no' });
    return 'paid';
  };
  const later = { retry: { attempts: 2, delayMs: 60_000, delayMsMax: 60_000 } };
  const graph = graphOf(
    'g',
    [
      node('first', 'write', pay, later),
      node('second', 'write', pay, later),
      node('person', 'human', (ctx) => ctx.ask({ prompt: 'Go on?' })),
    ],
    edges('> first', '> second', '> person', 'first >', 'second >', 'person >'),
    { policies: { concurrency: 1, checkpoint: 'every_node' } },
  );
  const bench = createBench({ findGraph: () => graph });
  const { runId } = await runToRest(bench.engine, graph);
  const seq = (await changesOf(bench.engine, runId)).findIndex((change) => change.includes('wait person'));
  bench.clock.timeMs += 60_000;
  await resumeToRest(bench.engine, runId, graph);
  const rows = await bench.engine.preview({ runId, seq }, { graph, asFork: true });
  expect(rows.map(({ node: path, prediction }) => `${path.join('/')} ${prediction}`).toSorted()).toEqual([
    'first replayed',
    'person asks',
    'second replayed',
  ]);
  const fork = await bench.engine.fork({ runId, seq });
  const done = await resumeToRest(bench.engine, fork.runId, graph);
  expect([done.state.outputs, done.waits.map(({ node: path }) => path)]).toEqual([
    { first: 'paid', second: 'paid' },
    [['person']],
  ]);
});

test('X5 X2 an effect that a person has run again sees in a preview, as in the fork, the state from before what the fork sets', async () => {
  let calls = 0;
  const pay = (): unknown => {
    calls += 1;
    return new Promise(() => {});
  };
  const graph = graphOf('g', [node('pay', 'external', pay)], edges('> pay', 'pay >'));
  const bench = createBench();
  const killed = async (advance: (engine: Engine) => Promise<unknown>): Promise<void> => {
    const before = calls;
    const { engine, kill } = killableEngine(bench);
    await advance(engine);
    await until('the effect is called', () => calls > before);
    kill();
    bench.clock.timeMs += 31_000;
  };
  await killed((engine) => engine.start(graph, {}, { runId: 'r' }));
  const next = afterCrash(bench);
  const { seq, waits } = await resumeToRest(next, 'r', graph);
  const waitId = waits[0]?.waitId ?? '';
  await killed(async (engine) => {
    await engine.answer('r', waitId, 'run again');
    await engine.resume('r', { graph });
  });

  const change = { set: [{ path: ['scratch', 'amount'], value: 20 }], answers: { [waitId]: 'run again' } };
  const rows = await next.preview({ runId: 'r', seq }, { ...change, graph });
  expect(rows).toMatchObject([{ node: ['pay'], prediction: 'in doubt' }]);
  const fork = await next.fork({ runId: 'r', seq }, change);
  const paused = await resumeToRest(next, fork.runId, graph);
  expect([paused.status, paused.waits.map(({ kind }) => kind), calls]).toEqual(['paused', ['doubt'], 2]);
});

test('X5 what has begun waits for no room in a preview: of two questions that are open side by side both are asked again', async () => {
  const asks = (ctx: NodeContext): Promise<unknown> => ctx.ask({ prompt: 'Go on?' });
  const graph = graphOf(
    'g',
    [node('first', 'human', asks), node('second', 'human', asks)],
    edges('> first', '> second', 'first >', 'second >'),
    { policies: { concurrency: 1 } },
  );
  const bench = createBench({ findGraph: () => graph });
  const { runId, seq, waits } = await runToRest(bench.engine, graph);
  expect(waits).toHaveLength(2);
  expect((await previewed(bench, graph, runId, seq)).toSorted()).toEqual(['first#1 asks', 'second#1 asks']);
  const fork = await bench.engine.fork({ runId, seq });
  const { waits: open } = await resumeToRest(bench.engine, fork.runId, graph);
  expect(open.map(({ node: path }) => path.join('/')).toSorted()).toEqual(['first', 'second']);
});
