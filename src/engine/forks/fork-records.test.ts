/** What a fork takes of what its original recorded after the fork point: whole, of the same visit, and never what is used up (X2). */
import { expect, test } from 'vitest';
import { until } from '../../../test/support/awaited.ts';
import { functionCondition } from '../../graph/condition.ts';
import type { EdgeDefinition, GraphDefinition } from '../../graph/graph.ts';
import { NodeFailure, outcome, stepsOutput } from '../../graph/contracts/node-contract.ts';
import { loadState } from '../../history/load/load.ts';
import { viewState } from '../../history/read/checkpoint-view.ts';
import type { Engine } from '../api.ts';
import { createEngine } from '../engine.ts';
import { killableEngine, killedInEffect, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  testIds,
  type Bench,
} from '../../../test/engine-kit.ts';

type Graph = ReturnType<typeof graphOf>;

const never = new Promise<never>(() => {});
const notApplied = (): never => {
  throw new NodeFailure('not now', { code: 'BUSY', applied: 'no' });
};

/** Back to a node whose output is `{ visit }`, for so many rounds. */
const back = (id: string, rounds: number): EdgeDefinition => ({
  from: id,
  to: id,
  condition: {
    text: `${rounds} rounds`,
    evaluate: ({ outcome: { output } }) => (output as { visit: number }).visit < rounds,
  },
});

async function forkOf(
  bench: Bench,
  graph: Graph,
  runId: string,
  seq: number,
): Promise<Awaited<ReturnType<typeof resumeToRest>>> {
  const engine = afterCrash(bench);
  const fork = await engine.fork({ runId, seq });
  return resumeToRest(engine, fork.runId, graph);
}

test.each(['none', 'every_node'] as const)(
  'X2 steps that are the output of a node which began and settled in one checkpoint are its output in a fork (%s)',
  async (checkpoint) => {
    const graph = graphOf(
      'g',
      [
        node('all', 'pure', async (ctx) => {
          await Promise.all(['x', 'y'].map((name) => ctx.step(name, { input: name }, () => name)));
          return outcome({ output: stepsOutput });
        }),
      ],
      edges('> all', 'all >'),
      { policies: { checkpoint } },
    );
    const bench = createBench();
    const done = await runToRest(bench.engine, graph);
    expect((await forkOf(bench, graph, done.runId, 0)).state.outputs).toEqual(done.state.outputs);
  },
);

/** A node with steps that end in the reverse order of their calls, and one that is told what they gave. */
function reversedSteps(more: Partial<GraphDefinition> = {}): Graph {
  const all = node('all', 'pure', async (ctx) => {
    if (ctx.savedState === undefined) {
      await ctx.step('last', {}, () => 'saved');
      await ctx.save('the first part');
    }
    const ended: (() => void)[] = [];
    const names = ['first', '9', 'last', '3'];
    await Promise.all(
      names.map((name, index) =>
        ctx.step(name, {}, async () => {
          if (index < names.length - 1) await new Promise<void>((resolve) => (ended[index] = resolve));
          ended[index - 1]?.();
          return name;
        }),
      ),
    );
    return outcome({ output: stepsOutput, scratch: { sum: 1 } });
  });
  const told = node('told', 'pure', ({ state }) => String(state.outputs['all']));
  return graphOf('g', [all, told], edges('> all', 'all > told', 'told >'), more);
}

test('X4 outputs of steps stand in the order of their calls, in a fork and in what is shown too', async () => {
  const graph = reversedSteps();
  const bench = createBench();
  const done = await runToRest(bench.engine, graph);
  const expected = { all: ['first', '9', 'last', '3'], told: 'first,9,last,3' };
  expect(done.state.outputs).toEqual(expected);
  for (let seq = (await rowOf(bench, done.runId)).head; seq >= 0; seq -= 1)
    expect((await forkOf(bench, graph, done.runId, seq)).state.outputs, `forked at ${seq}`).toEqual(expected);
  const row = await rowOf(bench, done.runId);
  const { root } = await loadState(bench.store, bench.options.blobs, row);
  expect(viewState(root).state.outputs).toEqual(expected);
});

test('X4 outputs of steps are kept, in their order, where a reducer fails and a resume tries again', async () => {
  let isBroken = true;
  const reduce = (_: unknown, update: unknown): unknown => {
    if (isBroken) throw new Error('the reducer fails');
    return update;
  };
  const graph = reversedSteps({ reducers: { 'scratch.sum': { name: 'breaks', reduce } } });
  const bench = createBench();
  expect((await runToRest(bench.engine, graph, {}, 'kept')).status).toBe('failed');
  isBroken = false;
  const done = await resumeToRest(afterCrash(bench), 'kept', graph);
  expect(done.state.outputs).toEqual({ all: ['first', '9', 'last', '3'], told: 'first,9,last,3' });
});

test('E1.5 a visit that is skipped leaves the output of its steps to be seen, as any other output', async () => {
  let calls = 0;
  const all = node(
    'all',
    'pure',
    async (ctx) => {
      calls += 1;
      await ctx.step('only', {}, () => 'output');
      return outcome({ output: stepsOutput });
    },
    { when: functionCondition(({ state }) => state.outputs['again'] === undefined) },
  );
  const again = node('again', 'pure', ({ visit }) => ({ visit }));
  const links = [...edges('> all'), { from: 'all', to: 'again', always: true }, { ...back('again', 2), to: 'all' }];
  const bench = createBench();
  const done = await runToRest(bench.engine, graphOf('g', [all, again], links));
  expect(done.state.outputs).toEqual({ all: ['output'], again: { visit: 2 } });
  expect(calls).toBe(1);
});

test('X2 visits that settled in one checkpoint each have their own outcome in a fork', async () => {
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', ({ visit }) => outcome({ output: { visit }, scratch: { sum: visit * 10, seen: [visit] } })),
      node('quiet', 'pure', ({ visit }) => ({ visit })),
    ],
    [...edges('> a', '> quiet', 'a >', 'quiet >'), back('a', 3), back('quiet', 3)],
    { policies: { checkpoint: 'none' }, reducers: { 'scratch.sum': 'sum', 'scratch.seen': 'append' } },
  );
  const bench = createBench();
  const done = await runToRest(bench.engine, graph);
  expect(done.state.scratch).toEqual({ sum: 60, seen: [1, 2, 3] });
  const fork = await forkOf(bench, graph, done.runId, 0);
  expect([fork.state.scratch, fork.state.outputs]).toEqual([done.state.scratch, done.state.outputs]);
});

test('X2 what was answered in one round of a loop does not answer another', async () => {
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', async (ctx) => {
        const answer = await ctx.ask({ name: 'go on', prompt: `round ${ctx.visit}` });
        return { visit: ctx.visit, answer };
      }),
    ],
    [...edges('> ask', 'ask >'), back('ask', 3)],
  );
  const bench = createBench();
  const first = await runToRest(bench.engine, graph);
  const seq = (await rowOf(bench, first.runId)).head;
  const answer = async (engine: Engine, runId: string, value: string): Promise<void> => {
    const [wait] = await engine.waits(runId);
    await engine.answer(runId, wait?.waitId ?? '', value);
    await resumeToRest(engine, runId, graph);
  };
  const engine = afterCrash(bench);
  await answer(engine, first.runId, 'yes');
  const fork = await engine.fork({ runId: first.runId, seq });
  await answer(engine, fork.runId, 'no');
  expect((await engine.waits(fork.runId)).map(({ prompt }) => prompt)).toEqual(['round 2']);
});

test('X2 an effect that is tried again at the fork point is taken over, not run', async () => {
  const bench = createBench();
  let calls = 0;
  const graph = graphOf(
    'g',
    [
      node('pay', 'write', () => ((calls += 1) === 1 ? notApplied() : `call ${calls}`), {
        retry: { attempts: 2, delayMs: 10 },
      }),
    ],
    edges('> pay', 'pay >'),
  );
  const { runId } = await runToRest(bench.engine, graph);
  for (let seq = (await rowOf(bench, runId)).head; seq >= 0; seq -= 1)
    expect((await forkOf(bench, graph, runId, seq)).state.outputs['pay'], `forked at ${seq}`).toBe('call 2');
  expect(calls).toBe(2);
});

test('X1 an effect keeps the key it was begun under in its original, though an attempt says that it did nothing', async () => {
  const keys: string[] = [];
  const { bench, graph } = await killedInEffect((effect) =>
    graphOf(
      'g',
      [
        node(
          'pay',
          'write',
          ({ idempotencyKey }) => {
            keys.push(idempotencyKey);
            return keys.length === 2 ? notApplied() : effect();
          },
          { idempotent: true, retry: { attempts: 3, delayMs: 10 } },
        ),
      ],
      edges('> pay', 'pay >'),
    ),
  );
  expect((await forkOf(bench, graph, 'r', 0)).status).toBe('completed');
  expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
});

test('X2 a decision about an effect is used up where the original has begun it again', async () => {
  const { bench, graph, calls } = await killedInEffect((effect) =>
    graphOf('g', [node('pay', 'write', () => (effect(), never))], edges('> pay', 'pay >')),
  );
  const ids = testIds('worker-2', ['worker-1']);
  const second = killableEngine({ ...bench, options: { ...bench.options, ids } });
  const [wait] = (await (await second.engine.resume('r', { graph })).result()).waits;
  await second.engine.answer('r', wait?.waitId ?? '', 'run again');
  void second.engine.resume('r', { graph });
  await until('the effect is called again', () => calls() > 1);
  second.kill();
  await settleDown();
  bench.clock.timeMs += 3_600_000;
  const engine = createEngine({ ...bench.options, ids: testIds('worker-3', ['worker-1', 'worker-2']) });
  for (let seq = (await rowOf(bench, 'r')).head; seq >= 0; seq -= 1) {
    const fork = await engine.fork({ runId: 'r', seq });
    const result = await resumeToRest(engine, fork.runId, graph);
    expect([seq, result.status, result.waits.map(({ kind }) => kind)]).toEqual([seq, 'paused', ['doubt']]);
  }
  expect(calls()).toBe(2);
});

test.each([
  ['a node', 'completed', []],
  ['a step', 'paused', ['doubt']],
])(
  'X2 a decision about the effect of %s is used up where the original began it again, and it failed there',
  async (what, status, waits) => {
    let isSecond = false;
    const fails = (effect: () => unknown): never => {
      effect();
      if (isSecond) throw new Error('the receiver hung up');
      return never as never;
    };
    const { bench, graph, calls } = await killedInEffect((effect) =>
      graphOf(
        'g',
        [
          what === 'a node'
            ? node('pay', 'write', () => fails(effect), { onFailure: 'continue' })
            : node('pay', 'read', (ctx) => ctx.step('pay', { effect: 'write' }, () => fails(effect)), {
                onFailure: 'continue',
              }),
        ],
        edges('> pay', 'pay >'),
      ),
    );
    const second = createEngine({ ...bench.options, ids: testIds('worker-2', ['worker-1']) });
    const [wait] = (await resumeToRest(second, 'r', graph)).waits;
    await second.answer('r', wait?.waitId ?? '', 'run again');
    isSecond = true;
    expect((await resumeToRest(second, 'r', graph)).status).toBe('completed');
    for (let seq = (await rowOf(bench, 'r')).head - 1; seq > 0; seq -= 1) {
      const fork = await forkOf(bench, graph, 'r', seq);
      expect([seq, fork.status, fork.waits.map(({ kind }) => kind)]).toEqual([seq, status, waits]);
    }
    expect(calls()).toBe(2);
  },
);

test('X2.8 what the original began after the fork point is taken once: what a person decides about it in the fork is not asked again', async () => {
  const { bench, graph, calls } = await killedInEffect((effect) =>
    graphOf(
      'g',
      [node('first', 'read', () => 1), node('pay', 'write', effect)],
      edges('> first', 'first > pay', 'pay >'),
    ),
  );
  bench.clock.timeMs += 3_600_000;
  const engine = afterCrash(bench);
  const fork = await engine.fork({ runId: 'r', seq: 0 });
  const paused = await resumeToRest(engine, fork.runId, graph);
  expect([paused.waits.map(({ kind }) => kind), calls()]).toEqual([['doubt'], 1]);
  await engine.answer(fork.runId, paused.waits[0]?.waitId ?? '', 'run again');
  const done = await resumeToRest(engine, fork.runId, graph);
  expect([done.status, done.waits, calls()]).toEqual(['completed', [], 2]);
});
