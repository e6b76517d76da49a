/** Effects in doubt, and steps. */
import { expect, test } from 'vitest';
import { within } from '../../../test/support/awaited.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

const never = new Promise<never>(() => {});

test('X an effect that started and has no result is in doubt: asked about, and never repeated unasked', async () => {
  const bench = createBench();
  const begun = Promise.withResolvers<void>();
  let calls = 0;
  const graph = graphOf(
    'g',
    [
      node('pay', 'external', () => {
        begun.resolve();
        calls += 1;
        return calls === 1 ? never : 'again';
      }),
      node('after', 'pure', (ctx) => ctx.state.outputs['pay']),
    ],
    edges('> pay', 'pay > after', 'after >'),
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'doubt' });
  await within('the effect begins', begun.promise);
  expect(calls).toBe(1);
  const second = afterCrash(bench);
  const paused = await resumeToRest(second, handle.runId, graph);
  expect(paused.status).toBe('paused');
  expect(paused.waits[0]?.kind).toBe('doubt');
  expect(calls).toBe(1);
  await second.answer('doubt', paused.waits[0]?.waitId ?? '', { decision: 'happened', output: 'paid' });
  const done = await resumeToRest(second, 'doubt', graph);
  expect(done.status).toBe('completed');
  expect(done.state.outputs['after']).toBe('paid');
  expect(calls).toBe(1);
  await expect(handle.result()).rejects.toMatchObject({ code: expect.stringMatching(/CLAIM/) });
});

test('X a reconciled effect is taken as it happened', async () => {
  const bench = createBench();
  const begun = Promise.withResolvers<void>();
  const run = (): Promise<never> => {
    begun.resolve();
    return never;
  };
  const reconcile = (): object => ({ happened: true, output: 'found' });
  const graph = graphOf(
    'g',
    [
      node('pay', 'external', run, {
        implementation: { run, reconcile: reconcile as never },
      }),
    ],
    edges('> pay', 'pay >'),
  );
  await bench.engine.start(graph, {}, { runId: 'reconcile' });
  await within('the effect begins', begun.promise);
  const done = await resumeToRest(afterCrash(bench), 'reconcile', graph);
  expect(done.state.outputs['pay']).toBe('found');
});

test('X4 a map of steps records each item and a retry runs only what failed', async () => {
  const { engine } = createBench();
  const runs: number[] = [];
  let isBroken = true;
  const graph = graphOf(
    'g',
    [
      node('m', 'read', (ctx) =>
        Promise.all(
          [1, 2, 3].map((i) =>
            ctx.step(`i${i}`, { effect: 'write', input: i }, () => {
              runs.push(i);
              if (i === 2 && isBroken) throw new NodeFailure('no', { applied: 'no' });
              return i * 2;
            }),
          ),
        ),
      ),
    ],
    edges('> m', 'm >'),
  );
  const failed = await runToRest(engine, graph);
  expect(failed.status).toBe('failed');
  isBroken = false;
  const done = await resumeToRest(engine, failed.runId, graph);
  expect(done.status).toBe('completed');
  expect(done.state.outputs['m']).toEqual([2, 4, 6]);
  expect(runs).toEqual([1, 2, 3, 2]);
});
