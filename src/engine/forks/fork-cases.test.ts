/** Forks in odd places, of forks, with patches; what a refresh runs again (H2, X2, X6). */
import { expect, test } from 'vitest';
import type { StandardSchema } from '../../graph/graph.ts';
import type { ForkOptions, RunResult } from '../api.ts';
import { outcome } from '../../graph/contracts/node-contract.ts';
import { readHistory } from '../../history/load/load.ts';
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

type Graph = ReturnType<typeof graphOf>;

/** A composed node with a question between two effects, and an effect after it. */
function composed(calls: string[]): Graph {
  const work = (name: string) => (): string => (calls.push(name), name);
  return graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        const [one, two] = await Promise.all([
          ctx.step('one', { effect: 'write' }, work('one')),
          ctx.step('two', { effect: 'write' }, work('two')),
        ]);
        const answer = await ctx.ask({ prompt: '?' });
        return [one, two, answer, await ctx.step('three', { effect: 'write', input: answer }, work('three'))];
      }),
      node('b', 'write', (ctx) => (calls.push('b'), (ctx.state.outputs['a'] as unknown[])[2])),
    ],
    edges('> a', 'a > b', 'b >'),
  );
}

async function answered(bench: Bench, graph: Graph): Promise<{ runId: string; seq: number }> {
  const paused = await runToRest(bench.engine, graph);
  await bench.engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  const { runId, seq, status } = await resumeToRest(bench.engine, paused.runId, graph);
  expect(status).toBe('completed');
  return { runId, seq };
}

/** A question that was open at the fork point is still open, under the same id: it is answered as before. */
async function finish(bench: Bench, runId: string, graph: Graph): Promise<RunResult> {
  const result = await resumeToRest(afterCrash(bench), runId, graph);
  for (const { waitId } of result.waits) await bench.engine.answer(runId, waitId, 'yes');
  return result.waits.length === 0 ? result : resumeToRest(bench.engine, runId, graph);
}

test('X2 a fork at every checkpoint of a composed node replays its steps and answers, and repeats no effect', async () => {
  const calls: string[] = [];
  const bench = createBench();
  const graph = composed(calls);
  const { runId, seq } = await answered(bench, graph);
  const before = [...calls];
  for (let at = 0; at <= seq; at += 1) {
    const fork = await bench.engine.fork({ runId, seq: at });
    const done = await finish(bench, fork.runId, graph);
    expect(done.state.outputs).toEqual({ a: ['one', 'two', 'yes', 'three'], b: 'yes' });
    const deeper = await bench.engine.fork({ runId: fork.runId, seq: fork.seq });
    expect((await finish(bench, deeper.runId, graph)).state.outputs).toEqual(done.state.outputs);
  }
  expect(calls).toEqual(before);
});

test('X2 a fork of a fork that was answered otherwise takes what its nearest ancestor recorded', async () => {
  const calls: string[] = [];
  const bench = createBench();
  const graph = composed(calls);
  const { runId, seq } = await answered(bench, graph);
  const fork = await bench.engine.fork({ runId, seq }, { answers: { a: 'no' } });
  const other = await resumeToRest(bench.engine, fork.runId, graph);
  expect(other.state.outputs['b']).toBe('no');
  expect(calls.filter((call) => call === 'three')).toHaveLength(2);
  const again = await bench.engine.fork({ runId: fork.runId, seq: fork.seq });
  expect((await resumeToRest(bench.engine, again.runId, graph)).state.outputs['b']).toBe('no');
  expect(calls.filter((call) => call === 'three')).toHaveLength(2);
});

const chain = (calls: string[]): Graph =>
  graphOf(
    'g',
    [
      node('r', 'read', () => (calls.push('r'), 'read')),
      node('p', 'pure', () => (calls.push('p'), 'pure')),
      node('w', 'write', (ctx) => (calls.push('w'), `wrote ${String(ctx.state.outputs['p'])}`)),
      node('end', 'pure', (ctx) => [ctx.state.outputs['r'], ctx.state.outputs['w']]),
    ],
    edges('> r', 'r > p', 'p > w', 'w > end', 'end >'),
  );

test('X6 a refresh runs read nodes again, reuses pure ones and replays writes', async () => {
  const calls: string[] = [];
  const { engine } = createBench();
  const done = await runToRest(engine, chain(calls));
  calls.length = 0;
  const fork = await engine.fork({ runId: done.runId, seq: 0 });
  await resumeToRest(engine, fork.runId, chain(calls));
  expect(calls).toEqual(['r']);
  calls.length = 0;
  const pure = await engine.fork({ runId: done.runId, seq: 0 }, { rerunPure: true });
  await resumeToRest(engine, pure.runId, chain(calls));
  expect(calls).toEqual(['r', 'p']);
});

test('H2 a patched outcome stands in for the node, wherever the fork was asked for, and what reads it runs anew', async () => {
  const calls: string[] = [];
  const { engine } = createBench();
  const done = await runToRest(engine, chain(calls));
  for (const seq of [done.seq, 2]) {
    calls.length = 0;
    const fork = await engine.fork({ runId: done.runId, seq }, { set: [{ path: ['outputs', 'p'], value: 'patched' }] });
    const patched = await resumeToRest(engine, fork.runId, chain(calls));
    expect(patched.state.outputs['end']).toEqual(['read', 'wrote patched']);
    expect(calls).toEqual(['w']);
  }
});

test.each(['a', 'b'])(
  'H2 a patched outcome of %s stands in for it also where it has begun, at every checkpoint',
  async (id) => {
    const calls: string[] = [];
    const bench = createBench();
    const graph = composed(calls);
    const { runId, seq } = await answered(bench, graph);
    const value = ['1', '2', 'patched'];
    for (let at = 0; at <= seq; at += 1) {
      calls.length = 0;
      const options = { set: [{ path: ['outputs', id], value }] };
      const rows = await bench.engine.preview({ runId, seq: at }, { ...options, graph });
      expect(rows[0]).toMatchObject(id === 'a' ? { node: ['a'], prediction: 'restored' } : {});
      const fork = await bench.engine.fork({ runId, seq: at }, options);
      const done = await finish(bench, fork.runId, graph);
      expect(done.state.outputs).toEqual(
        id === 'a' ? { a: value, b: 'patched' } : { a: ['one', 'two', 'yes', 'three'], b: value },
      );
      expect(done.waits).toEqual([]);
      expect(calls).toEqual(id === 'a' ? ['b'] : []);
    }
  },
);

test('H2 a patch takes a routing decision again if none of its targets has started, or what has begun read what is patched', async () => {
  const { engine } = createBench();
  const calls: string[] = [];
  const large = {
    text: 'scratch.n > 5',
    evaluate: ({ state }: { state: { scratch: Record<string, unknown> } }) => Number(state.scratch['n']) > 5,
  };
  const small = {
    text: 'scratch.n <= 5',
    evaluate: ({ state }: { state: { scratch: Record<string, unknown> } }) => Number(state.scratch['n']) <= 5,
  };
  const made = (id: string, reads: readonly string[]): Graph =>
    graphOf(
      id,
      [
        node('a', 'write', () => (calls.push('a'), outcome({ output: 1, scratch: { n: 1 } }))),
        node('large', 'write', () => (calls.push('large'), 'large')),
        node('small', 'write', () => (calls.push('small'), 'small'), { reads }),
      ],
      [
        ...edges('> a', 'large >', 'small >'),
        { from: 'a', to: 'large', condition: large },
        { from: 'a', to: 'small', condition: small },
      ],
    );
  // The checkpoint that holds the decision also announces what it starts.
  const decided = 2;
  const forkDecided = async (graph: Graph): Promise<readonly string[]> => {
    calls.length = 0;
    const done = await runToRest(engine, graph);
    const from = { runId: done.runId, seq: decided };
    const fork = await engine.fork(from, { set: [{ path: ['scratch', 'n'], value: 9 }] });
    return [...(await resumeToRest(engine, fork.runId, graph)).skipped, ...calls];
  };
  expect(await forkDecided(made('blind', ['input']))).toEqual(['large', 'a', 'small']);
  expect(await forkDecided(made('sees', ['scratch.n']))).toEqual(['small', 'a', 'small', 'large']);
  const lazy = graphOf(
    'lazy',
    [
      node('a', 'pure', () => outcome({ output: 1, scratch: { n: 1 } })),
      node('hold', 'human', (ctx) => ctx.ask({ prompt: '?' })),
      node('large', 'write', () => 'large', { join: 'all' }),
      node('small', 'write', () => 'small', { join: 'all' }),
    ],
    [
      ...edges('> a', '> hold', 'hold > large', 'hold > small', 'large >', 'small >'),
      { from: 'a', to: 'large', condition: large },
      { from: 'a', to: 'small', condition: small },
    ],
  );
  const paused = await runToRest(engine, lazy);
  const fork = await engine.fork(paused, { set: [{ path: ['scratch', 'n'], value: 9 }] });
  for (const [runId, skipped] of [
    [fork.runId, 'small'],
    [paused.runId, 'large'],
  ] as const) {
    const [wait] = (await resumeToRest(engine, runId, lazy)).waits;
    await engine.answer(runId, wait?.waitId ?? '', 1);
    expect((await resumeToRest(engine, runId, lazy)).skipped).toEqual([skipped]);
  }
});

test.each<[readonly string[], unknown, unknown]>([
  [['input'], { whole: true }, { whole: true }],
  [['input', 'topic'], 'new', { topic: 'new', deep: { list: [1, 2] } }],
  [['input', 'deep', 'list'], [3], { topic: 'old', deep: { list: [3] } }],
])('H2 a patch of %j is what the fork reads', async (path, value, input) => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'pure', (ctx) => ctx.input)], edges('> a', 'a >'));
  const done = await runToRest(engine, graph, { topic: 'old', deep: { list: [1, 2] } });
  const fork = await engine.fork({ runId: done.runId, seq: 0 }, { set: [{ path, value }] });
  expect((await resumeToRest(engine, fork.runId, graph)).state.outputs['a']).toEqual(input);
  expect((await resumeToRest(engine, done.runId, graph)).state.outputs['a']).toEqual({
    topic: 'old',
    deep: { list: [1, 2] },
  });
});

test('N12 a fork records the paths that it was given with `\\.` for a dot within a key', async () => {
  const bench = createBench();
  const graph = graphOf('g', [node('a', 'pure', () => null)], edges('> a', 'a >'));
  const { runId } = await runToRest(bench.engine, graph);
  const set = [
    { path: ['scratch', 'a.b'], value: 1 },
    { path: ['scratch', 'a', 'b'], value: 2 },
  ];
  const fork = await bench.engine.fork({ runId, seq: 0 }, { set });
  const row = await rowOf(bench, fork.runId);
  const recorded: unknown[] = [];
  for await (const { checkpoint } of readHistory(bench.store, row, { from: 1, to: 1 }))
    recorded.push(...checkpoint.change);
  expect(recorded).toMatchObject([{ kind: 'fork', detail: { set: ['scratch.a\\.b', 'scratch.a.b'] } }]);
});

test('P6 a fork of what is not there, or with what does not fit, says which', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [node('q', 'human', (ctx) => ctx.ask({ prompt: '?', choices: ['y'] }))],
    edges('> q', 'q >'),
  );
  const { runId, seq } = await runToRest(engine, graph);
  for (const at of [-1, 99, 0.5, Number.NaN])
    await expect(engine.fork({ runId, seq: at })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
  await expect(engine.fork({ runId: 'none', seq: 0 })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await expect(engine.fork({ runId, seq }, { answers: { nobody: 1 } })).rejects.toMatchObject({
    code: 'WAIT_NOT_FOUND',
  });
  await expect(engine.fork({ runId, seq }, { answers: { q: 'n' } })).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  const patch = (path: readonly string[], value: unknown = 1): Promise<unknown> =>
    engine.fork({ runId, seq }, { set: [{ path, value }] });
  await expect(patch(['nowhere', 'x'])).rejects.toMatchObject({ code: 'STATE_UNKNOWN_CHANNEL' });
  await expect(patch(['scratch'])).rejects.toMatchObject({ code: 'STATE_UNKNOWN_CHANNEL' });
  await expect(patch([])).rejects.toMatchObject({ code: 'STATE_UNKNOWN_CHANNEL' });
  await expect(patch(['scratch', 'f'], () => 1)).rejects.toMatchObject({ code: 'VALUE_UNSTORABLE' });
  for (const path of [['outputs'], ['outputs', 'q', 'part'], ['outputs', 'nobody']])
    await expect(patch(path)).rejects.toMatchObject({ code: 'STATE_UNKNOWN_CHANNEL' });
  await expect(patch(['outputs', 'nobody'])).rejects.toMatchObject({ hint: 'There are: outputs.q.' });
  await expect(engine.fork({ runId, seq }, { runId })).rejects.toMatchObject({ code: 'RUN_EXISTS' });
  expect((await resumeToRest(engine, runId, graph)).status).toBe('paused');
});

test('H2 a patch of the input fits its schema as the input did', async () => {
  const text = (value: unknown): boolean => typeof (value as { topic?: unknown } | null)?.topic === 'string';
  const schemaOf = (fits: (value: unknown) => boolean): StandardSchema => ({
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => (fits(value) ? { value } : { issues: [{ message: 'is no text', path: ['topic'] }] }),
    },
  });
  const graphWith = (schema: StandardSchema): Graph =>
    graphOf('g', [node('a', 'pure', (ctx) => ctx.input)], edges('> a', 'a >'), { schemas: { input: schema } });
  const graph = graphWith(schemaOf(text));
  const { engine } = createBench({ findGraph: async (id) => (id === 'g' ? graph : undefined) });
  const done = await runToRest(engine, graph, { topic: 'old' });
  const fork = (path: readonly string[], value: unknown, more: ForkOptions = {}): Promise<unknown> =>
    engine.fork({ runId: done.runId, seq: 0 }, { set: [{ path, value }], ...more });
  for (const [path, value] of [
    [['input', 'topic'], 5],
    [['input'], 5],
  ] as const) {
    await expect(fork(path, value)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      data: { reason: 'topic: is no text' },
    });
    const options = { set: [{ path, value }] };
    await expect(engine.preview(done, options)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  }
  await expect(fork(['input', 'topic'], 'new')).resolves.toMatchObject({ seq: 1 });
  // A schema that does not take what it once made, as one does that turns a text into a date, is not asked again.
  await expect(fork(['input', 'topic'], 5, { graph: graphWith(schemaOf(() => false)) })).resolves.toMatchObject({
    seq: 1,
  });
});

test.each([
  [['__proto__', 'x']],
  [['__proto__']],
  [['constructor', 'prototype', 'x']],
  [['toString', 'x']],
  [['outputs', '__proto__', 'x']],
  [['scratch', 'text', 'x']],
  [['input', '__proto__', 'x', 'y']],
])('H2 a patch at %j is refused by a code, and nothing is changed', async (path) => {
  const bench = createBench();
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const { runId } = await runToRest(bench.engine, graph, JSON.parse('{"__proto__":{"x":"text"}}'));
  const forking = bench.engine.fork(
    { runId, seq: 0 },
    {
      set: [
        { path: ['scratch', 'text'], value: 't' },
        { path, value: 1 },
      ],
    },
  );
  await expect(forking).rejects.toMatchObject({ code: 'STATE_UNKNOWN_CHANNEL' });
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();
});
