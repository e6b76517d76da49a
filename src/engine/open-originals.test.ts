/** Effects that were open at a fork point, while their original goes on (X2). */
import { describe, expect, test } from 'vitest';
import type { Graph } from '../graph/graph.ts';
import type { Reconciliation } from '../graph/node-contract.ts';
import { createEngine } from './engine.ts';
import { killableEngine } from '../../test/dying-engine.ts';
import { createBench, edges, graphOf, node, resumeToRest, testIds, type Bench } from '../../test/engine-kit.ts';

const never = new Promise<never>(() => {});
const reconcile = (): Reconciliation => ({ happened: true, output: 'found' });

/** In the original the effect is reconciled; in the fork there is nobody to ask. */
type Make = (run: () => unknown, canTell: boolean) => Graph;
const ofNode: Make = (run, canTell) =>
  graphOf(
    'g',
    [node('a', 'write', run, { timeoutMs: 6_000_000, implementation: { run, ...(canTell && { reconcile }) } })],
    edges('> a', 'a >'),
  );
const ofStep: Make = (run, canTell) =>
  graphOf(
    'g',
    [
      node('a', 'read', (ctx) =>
        ctx.step('s', { effect: 'write', timeoutMs: 6_000_000, ...(canTell && { reconcile }) }, run),
      ),
    ],
    edges('> a', 'a >'),
  );

/** A fork of a run whose process was killed in its effect, from there; its lease has run out, its deadline has not passed. */
async function forkInEffect(
  make: Make,
): Promise<{ readonly bench: Bench; readonly fork: string; readonly calls: () => number }> {
  const bench = createBench();
  const calls: number[] = [];
  const graph = make(() => (calls.push(1), never), true);
  const { engine, kill } = killableEngine(bench);
  await engine.start(graph, {}, { runId: 'original' });
  while (calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  kill();
  bench.clock.timeMs += 31_000;
  const fork = await bench.engine.fork({ runId: 'original', seq: 1 });
  return { bench, fork: fork.runId, calls: () => calls.length };
}

describe.each([
  ['node', ofNode],
  ['step', ofStep],
])('X2 an open effect of a %s', (_, make) => {
  test('X2 is taken from the original if that records it while the fork waits for its deadline', async () => {
    const { bench, fork, calls } = await forkInEffect(make);
    const original = createEngine({ ...bench.options, ids: testIds('worker-3', ['worker-1']) });
    const goOn = async (ms: number, callback: () => void): Promise<void> => {
      await resumeToRest(
        original,
        'original',
        make(() => never, true),
      );
      bench.clock.timeMs += ms;
      callback();
    };
    const clock = {
      ...bench.clock,
      setTimer: (ms: number, callback: () => void) =>
        ms > 10_000 ? (void goOn(ms, callback), () => {}) : bench.clock.setTimer(ms, callback),
    };
    const engine = createEngine({ ...bench.options, clock, ids: testIds('worker-2') });
    const done = await resumeToRest(
      engine,
      fork,
      make(() => 'again', false),
    );
    expect([done.status, done.state.outputs['a'], calls()]).toEqual(['completed', 'found', 1]);
  });

  test('X2 is refused if the original is taken up after the fork was', async () => {
    const { bench, fork } = await forkInEffect(make);
    let isTaken = false;
    const readCheckpoints: typeof bench.store.readCheckpoints = async (key, range) => {
      const rows = await bench.store.readCheckpoints(key, range);
      if (key.runId === 'original' && !isTaken) {
        isTaken = true;
        await bench.store.claimRun({ tenant: 'default', runId: 'original', workerId: 'worker-9', leaseMs: 1e9 });
      }
      return rows;
    };
    const store = { ...bench.store, readCheckpoints };
    const engine = createEngine({ ...bench.options, store, ids: testIds('worker-2', ['worker-1']) });
    await expect(
      resumeToRest(
        engine,
        fork,
        make(() => 'again', false),
      ),
    ).rejects.toMatchObject({
      code: 'ORIGINAL_CLAIMED',
    });
  });
});
