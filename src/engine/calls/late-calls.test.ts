/** A call of an attempt that is over by the time it is ready changes nothing any more (X4, E6). */
import { expect, test } from 'vitest';
import { NodeFailure, type NodeContext, type StepOptions } from '../../graph/contracts/node-contract.ts';
import { settleDown } from '../../../test/dying-engine.ts';
import { changesOf, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';

const big = 'large'.repeat(1_000);

/** Blobs whose `put` can be made to wait. */
function slowBlobs(): {
  readonly blobs: ReturnType<typeof createMemoryBlobs>;
  readonly gate: { wait: Promise<unknown> };
} {
  const blobs = createMemoryBlobs();
  const gate = { wait: Promise.resolve() as Promise<unknown> };
  const put: typeof blobs.put = async (run, bytes) => {
    await gate.wait;
    return blobs.put(run, bytes);
  };
  return { blobs: { ...blobs, put }, gate };
}

test('X4 W5 a signal that was about to be taken by a call that timed out stays, and its node stays as it ended', async () => {
  const { blobs, gate } = slowBlobs();
  const bench = createBench({ blobs, bounds: { inlineBytes: 1_000 } });
  const opened = Promise.withResolvers<void>();
  const graph = graphOf(
    'g',
    [
      node('begin', 'human', (ctx) => ctx.receive('begin')),
      node('a', 'human', (ctx) => ((gate.wait = opened.promise), ctx.receive('go')), {
        timeoutMs: 10,
        onFailure: 'skip-dependents',
      }),
      node('b', 'read', async (ctx) => {
        opened.resolve();
        await settleDown();
        return String(await ctx.receive('go')).length;
      }),
    ],
    [...edges('> begin', 'begin > a', 'b >'), { from: 'a', to: 'b', always: true }],
  );
  await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.signal('r', 'go', big);
  await bench.engine.signal('r', 'begin', 1);
  const result = await resumeToRest(bench.engine, 'r', graph);
  expect([result.status, result.state.outputs['b']]).toEqual(['completed', big.length]);
  expect(Object.keys(result.state.failures)).toEqual(['a']);
});

test('X3 X4 a step that waits for its next attempt when its node is tried again announces no effect of its own', async () => {
  const calls: string[] = [];
  const pay: StepOptions = { effect: 'write', retry: { attempts: 2, delayMs: 9_000 } };
  const work = async (ctx: NodeContext): Promise<unknown> => {
    const paid = ctx.step('pay', pay, ({ attempt }) => {
      calls.push(`pay ${attempt} of ${ctx.attempt}`);
      if (attempt === 1) throw new NodeFailure('not yet', { applied: 'no' });
      return 'paid';
    });
    if (ctx.attempt > 1) return paid;
    paid.catch(() => {});
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    throw new Error('other');
  };
  const graph = graphOf('g', [node('a', 'read', work, { retry: { attempts: 2, delayMs: 1 } })], edges('> a', 'a >'));
  const { engine } = createBench({ findGraph: () => graph });
  expect((await runToRest(engine, graph, {}, 'r')).state.outputs['a']).toBe('paid');
  expect(calls).toEqual(['pay 1 of 1', 'pay 2 of 2']);
  const intents = (await changesOf(engine, 'r')).filter((line) => line.includes('intent'));
  expect(intents).toEqual(['intent a pay', 'intent a pay']);
});
