/** Child runs in child runs, in maps, in loops; their failures and their retries (W6, G8). */
import { expect, test } from 'vitest';
import type { OnFailure } from '../../graph/graph.ts';
import { type ChildResult, type NodeContext, outcome } from '../../graph/contracts/node-contract.ts';
import type { Store } from '../../ports/store.ts';
import { settleDown } from '../../../test/dying-engine.ts';
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
import { createEngine } from '../engine.ts';

type Graph = ReturnType<typeof graphOf>;
const outputOf = (result: ChildResult, id: string): unknown => {
  if (result.error !== undefined) throw result.error;
  return result.state.outputs[id];
};
const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('p', [node('a', 'read', run)], edges('> a', 'a >'));

test('W6 three levels of children ask, each in its place, and are answered over crashes from the inside out', async () => {
  const bench = createBench();
  const level = (depth: number): Graph =>
    graphOf(
      `level${depth}`,
      [
        node('ask', 'human', (ctx) => ctx.ask({ prompt: `${depth} for ${String(ctx.input)}` })),
        node('down', 'read', async (ctx) =>
          depth === 3 ? 'bottom' : outputOf(await ctx.run(level(depth + 1), `${String(ctx.input)}.${depth}`), 'both'),
        ),
        node('both', 'write', (ctx) => [ctx.state.outputs['ask'], ctx.state.outputs['down']]),
      ],
      edges('> ask', '> down', 'ask > both', 'down > both', 'both >'),
    );
  const graph = level(1);
  let result = await runToRest(bench.engine, graph, 'top', 'r');
  expect(result.waits.map(({ node: path, prompt }) => [path.join('/'), prompt])).toEqual([
    ['ask', '1 for top'],
    ['down/run/ask', '2 for top.1'],
    ['down/run/down/run/ask', '3 for top.1.2'],
  ]);
  for (const wait of result.waits.toReversed()) {
    const next = afterCrash(bench);
    await next.answer('r', wait.waitId, wait.node.length);
    result = await resumeToRest(next, 'r', graph);
  }
  expect(result.state.outputs['both']).toEqual([1, [3, [5, 'bottom']]]);
});

test('W6 a map of child runs pauses with a question for each item, and runs only what is missing', async () => {
  const bench = createBench();
  const effects: string[] = [];
  const child = graphOf(
    'item',
    [
      node('w', 'write', (ctx) => (effects.push(String(ctx.input)), ctx.input)),
      node('q', 'human', (ctx) => ctx.ask({ prompt: String(ctx.input) })),
    ],
    edges('> w', 'w > q', 'q >'),
  );
  const graph = single((ctx) =>
    Promise.all(
      ['x', 'y', 'z'].map(async (item) => outputOf(await ctx.run(child, item, { name: `item ${item}` }), 'q')),
    ),
  );
  let result = await runToRest(bench.engine, graph, {}, 'r');
  expect(result.waits.map(({ prompt }) => prompt)).toEqual(['x', 'y', 'z']);
  for (const prompt of ['y', 'x', 'z']) {
    const next = afterCrash(bench);
    const wait = result.waits.find((open) => open.prompt === prompt);
    await next.answer('r', wait?.waitId ?? '', `${prompt}!`);
    result = await resumeToRest(next, 'r', graph);
  }
  expect(result.state.outputs['a']).toEqual(['x!', 'y!', 'z!']);
  expect(effects).toEqual(['x', 'y', 'z']);
});

test.each<[OnFailure, string, readonly string[]]>([
  ['fail-run', 'failed', []],
  ['skip-dependents', 'completed', ['side']],
  ['continue', 'completed', ['side', 'next']],
])('G8 onFailure %s holds inside a child run', async (onFailure, status, ran) => {
  const { engine } = createBench();
  const child = graphOf(
    'child',
    [
      node('bad', 'pure', () => Promise.reject(new Error('bad')), { onFailure }),
      node('next', 'pure', () => 'next'),
      node('side', 'pure', () => 'side'),
    ],
    edges('> bad', 'bad > next', 'next >', '> side', 'side >'),
  );
  const graph = single(async (ctx) => {
    const { status: ended, state, error } = await ctx.run(child, 1);
    return [ended, Object.keys(state.outputs), error?.message];
  });
  const done = await runToRest(engine, graph);
  const [ended, outputs, message] = done.state.outputs['a'] as [string, readonly string[], unknown];
  expect([ended, message]).toEqual([status, status === 'failed' ? 'bad' : undefined]);
  expect(outputs).toEqual(expect.arrayContaining([...ran]));
});

test('G8 a child that failed its run is retried by a resume: what it recorded stands, what failed is tried again', async () => {
  const bench = createBench();
  const effects: string[] = [];
  let isBroken = true;
  const child = graphOf(
    'child',
    [
      node('w', 'write', () => (effects.push('w'), 'w')),
      node('bad', 'read', (ctx) => {
        if (isBroken) throw new Error('bad');
        return ctx.attempt;
      }),
    ],
    edges('> w', 'w > bad', 'bad >'),
  );
  const graph = single(async (ctx) => outputOf(await ctx.run(child, 1), 'bad'));
  const failed = await runToRest(bench.engine, graph, {}, 'r');
  expect(failed.error?.message).toContain('bad');
  expect((await resumeToRest(afterCrash(bench), 'r', graph)).status).toBe('failed');
  isBroken = false;
  expect((await resumeToRest(afterCrash(bench), 'r', graph)).state.outputs['a']).toBe(3);
  expect(effects).toEqual(['w']);
});

test('X2 a fork of a loop of child runs replays their effects, one round after the other', async () => {
  const { engine } = createBench();
  const effects: unknown[] = [];
  const child = graphOf(
    'child',
    [node('w', 'write', (ctx) => (effects.push(ctx.input), `w${String(ctx.input)}`))],
    edges('> w', 'w >'),
  );
  const graph = graphOf(
    'p',
    [
      node('sub', 'read', async (ctx) => outputOf(await ctx.run(child, ctx.visit), 'w')),
      node('check', 'pure', (ctx) => outcome({ goto: ctx.visit < 3 ? 'sub' : 'out' })),
      node('out', 'pure', (ctx) => ctx.state.outputs['sub']),
    ],
    edges('> sub', 'sub > check', 'check > sub', 'check > out', 'out >'),
  );
  const done = await runToRest(engine, graph);
  const fork = await engine.fork({ runId: done.runId, seq: 0 });
  expect((await resumeToRest(engine, fork.runId, graph)).state.outputs['out']).toBe('w3');
  expect(effects).toEqual([1, 2, 3]);
});

test('E8 children deeper than the limit are refused with a typed error', async () => {
  const { engine } = createBench({ bounds: { childDepth: 3 } });
  const down: Graph = single(async (ctx) => outputOf(await ctx.run(down, 1), 'a'));
  const failed = await runToRest(engine, down);
  expect(failed.error?.message).toContain('limit childDepth of 3 reached');
});

test('E8 steps and open waits over their bounds are refused with a typed error', async () => {
  const { engine } = createBench({ bounds: { steps: 5, openWaits: 2 } });
  const steps = single(async (ctx) => {
    for (let index = 0; index < 6; index += 1) await ctx.step(`s${index}`, {}, () => 1);
  });
  expect((await runToRest(engine, steps)).error?.cause).toMatchObject({ code: 'RUN_LIMIT', data: { limit: 'steps' } });
  const waits = single((ctx) => Promise.all(['x', 'y', 'z'].map((name) => ctx.ask({ name, prompt: name }))));
  const failed = await runToRest(engine, waits);
  expect(failed.error?.cause).toMatchObject({ code: 'RUN_LIMIT', data: { limit: 'openWaits' } });
});

test('G3 a race cancels the rest of its sources, running, asking or waiting for a retry, and closes what they waited for', async () => {
  const bench = createBench();
  let aborted = '';
  const graph = graphOf(
    'race',
    [
      node('fast', 'pure', async () => {
        for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        return 'fast';
      }),
      node(
        'hang',
        'pure',
        (ctx) =>
          new Promise((_, reject) =>
            ctx.signal.addEventListener('abort', () => {
              aborted = String((ctx.signal.reason as { code?: unknown }).code);
              reject(new Error('aborted'));
            }),
          ),
      ),
      node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
      node(
        'retrying',
        'pure',
        () => {
          throw new Error('no');
        },
        { retry: { attempts: 5, delayMs: 1e9, delayMsMax: 1e9 } },
      ),
      node('deaf', 'pure', () => new Promise(() => {})),
      node('first', 'pure', (ctx) => Object.keys(ctx.state.outputs), { join: { first: 1, cancelRest: true } }),
    ],
    edges(
      '> fast',
      '> hang',
      '> ask',
      '> retrying',
      '> deaf',
      'fast > first',
      'hang > first',
      'ask > first',
      'retrying > first',
      'deaf > first',
      'first >',
    ),
  );
  const options = { ...bench.options, findGraph: () => graph };
  const done = await runToRest(bench.engine, graph, {}, 'r');
  expect(done.status).toBe('completed');
  expect(done.state.outputs['first']).toEqual(['fast']);
  expect(aborted).toBe('NODE_CANCELLED');
  expect(done.waits).toEqual([]);
  expect((await bench.store.listWaits({ tenant: 'default', runId: 'r' })).rows).toEqual([]);
  const changes = (await changesOf(afterCrash({ ...bench, options }), 'r')).join(' + ');
  for (const id of ['hang', 'ask', 'retrying', 'deaf']) expect(changes).toContain(`settle ${id}`);
});

test('W6 a call that is answered from the record gives its place to a child run beside it, with room for one', async () => {
  const child = graphOf('child', [node('inner', 'pure', () => 'ran')], edges('> inner', 'inner >'));
  const graph = graphOf(
    'g',
    [
      node('a', 'read', (ctx) =>
        Promise.all([ctx.ask({ prompt: 'Go on?' }), ctx.run(child, {}).then(({ state }) => state.outputs['inner'])]),
      ),
    ],
    edges('> a', 'a >'),
    { policies: { concurrency: 1 } },
  );
  const { engine, options } = createBench({ findGraph: () => graph });
  const { waits } = await runToRest(engine, graph, {}, 'r');
  await engine.answer('r', waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(engine, 'r', graph)).status).toBe('completed');
  const fork = await engine.fork({ runId: 'r', seq: 0 });
  // The answer is found after the child run has begun to wait for a place.
  const { store } = options;
  const late: Store = Object.assign(Object.create(store) as Store, {
    readCheckpoints: async (...given: Parameters<Store['readCheckpoints']>) => {
      await settleDown();
      return store.readCheckpoints(...given);
    },
  });
  const result = await resumeToRest(createEngine({ ...options, store: late }), fork.runId, graph);
  expect([result.status, result.state.outputs['a']]).toEqual(['completed', ['yes', 'ran']]);
});
