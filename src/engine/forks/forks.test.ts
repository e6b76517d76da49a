/** Forks: what is replayed, what is answered otherwise. */
import { expect, test } from 'vitest';
import { within } from '../../../test/support/awaited.ts';
import { functionCondition } from '../../graph/condition.ts';
import { outcome } from '../../graph/contracts/node-contract.ts';
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

test('H2 X2 a fork replays recorded effects of equal input, and runs those whose input changed', async () => {
  const { engine } = createBench();
  const calls: string[] = [];
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', (ctx) => outcome({ output: 1, scratch: { x: ctx.state.scratch['seed'] ?? 1 } })),
      node('w1', 'write', () => void calls.push('w1')),
      node('w2', 'write', (ctx) => {
        calls.push(`w2:${String(ctx.state.scratch['x'])}`);
        return ctx.state.scratch['x'];
      }),
    ],
    edges('> a', 'a > w1', 'w1 > w2', 'w2 >'),
  );
  const done = await runToRest(engine, graph);
  expect(calls).toEqual(['w1', 'w2:1']);
  const same = await engine.fork({ runId: done.runId, seq: 0 });
  const again = await resumeToRest(engine, same.runId, graph);
  expect(again.status).toBe('completed');
  expect(calls).toEqual(['w1', 'w2:1']);
  const other = await engine.fork({ runId: done.runId, seq: 0 }, { set: [{ path: ['scratch', 'seed'], value: 7 }] });
  const preview = await engine.preview(
    { runId: done.runId, seq: 0 },
    { graph, set: [{ path: ['scratch', 'seed'], value: 7 }] },
  );
  expect(preview.map((row) => `${row.node.join('/')} ${row.prediction}`)).toEqual([
    'a runs again',
    'w1 unknown',
    'w2 unknown',
  ]);
  const changed = await resumeToRest(engine, other.runId, graph);
  expect(changed.state.outputs['w2']).toBe(7);
  expect(calls).toEqual(['w1', 'w2:1', 'w2:7']);
});

test('H1 each checkpoint of a fork says what happened, also where it stops at the question that was open before it', async () => {
  const graph = graphOf('g', [node('ask', 'human', (ctx) => ctx.ask({ prompt: 'ok?' }))], edges('> ask', 'ask >'));
  const { engine } = createBench({ findGraph: () => Promise.resolve(graph) });
  const { runId, seq } = await runToRest(engine, graph);
  for (const at of [seq, seq - 1]) {
    const fork = await engine.fork({ runId, seq: at }, { set: [{ path: ['scratch', 'x'], value: 1 }] });
    await resumeToRest(engine, fork.runId, graph);
    expect((await changesOf(engine, fork.runId)).at(-1)).toBe('pause');
  }
});

test('H2 a fork answers a recorded question otherwise', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'ok?' })),
      node('b', 'external', (ctx) => `did ${String(ctx.state.outputs['ask'])}`),
    ],
    edges('> ask', 'ask > b', 'b >'),
  );
  const paused = await runToRest(engine, graph);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  const done = await resumeToRest(engine, paused.runId, graph);
  const answered = (await engine.preview({ runId: done.runId, seq: paused.seq + 1 }, { graph })).map(
    (row) => row.prediction,
  );
  expect(answered, 'X5 what is answered is not asked again').toEqual(['runs again', 'unknown']);
  const fork = await engine.fork({ runId: done.runId, seq: done.seq }, { answers: { ask: 'no' } });
  const other = await resumeToRest(engine, fork.runId, graph);
  expect(other.status).toBe('completed');
  expect(other.state.outputs['b']).toBe('did no');
});

test('X2 a fork takes each recorded step once, after a crash too', async () => {
  const bench = createBench();
  const stuck = Promise.withResolvers<void>();
  let isStuck = false;
  const graph = graphOf(
    'g',
    [
      node('p', 'read', (ctx) => ctx.step('s', { effect: 'write', input: 1 }, () => `v${ctx.visit}`)),
      node('mid', 'read', (ctx) => {
        if (!isStuck || ctx.visit > 1) return outcome({ goto: ctx.visit < 3 ? 'p' : 'out' });
        stuck.resolve();
        return new Promise(() => {});
      }),
      node('out', 'pure', () => 1),
    ],
    edges('> p', 'p > mid', 'mid > p', 'mid > out', 'out >'),
  );
  await runToRest(bench.engine, graph, {}, 'r');
  isStuck = true;
  await bench.engine.fork({ runId: 'r', seq: 0 }, { runId: 'f' });
  await bench.engine.resume('f', { graph });
  await within('the fork stands at mid', stuck.promise);
  isStuck = false;
  const second = afterCrash({ ...bench, options: { ...bench.options, findGraph: () => graph } });
  expect((await resumeToRest(second, 'f', graph)).state.outputs['p']).toBe('v3');
  const steps = (await changesOf(second, 'f')).filter((line) => line.includes('step p'));
  expect(steps).toHaveLength(3);
});

test('X3 an effect that was cancelled or failed in the original is in doubt in a fork where it is due', async () => {
  const bench = createBench();
  let writes = 0;
  const graph = graphOf(
    'g',
    [
      node('fast', 'pure', () => bench.clock.sleep(20), {
        when: functionCondition(({ state }) => state.input === 1),
      }),
      node('slow', 'write', () => {
        writes += 1;
        return bench.clock.sleep(60);
      }),
      node(
        'composed',
        'read',
        (ctx) =>
          ctx.step('s', { effect: 'write' }, () => {
            writes += 1;
            throw new Error('lost');
          }),
        { onFailure: 'continue' },
      ),
      node('j', 'pure', () => 1, { join: { first: 1, cancelRest: true } }),
    ],
    edges('> fast', '> slow', '> composed', 'composed >', 'fast > j', 'slow > j', 'j >'),
  );
  expect((await runToRest(bench.engine, graph, 1, 'r')).status).toBe('completed');
  expect(writes).toBe(2);
  await bench.engine.fork({ runId: 'r', seq: 0 }, { runId: 'f', set: [{ path: ['input'], value: 2 }] });
  const fork = await resumeToRest(bench.engine, 'f', graph);
  const asked = fork.waits.map((wait) => `${wait.kind} ${wait.node.join('/')}`);
  expect(new Set(asked)).toEqual(new Set(['doubt composed', 'doubt slow']));
  expect(writes).toBe(2);
});
