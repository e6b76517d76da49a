/** A cancel of a run that another process has: whoever asked is told what came of it (E7.2). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, testIds } from '../../../test/engine-kit.ts';
import { createEngine } from '../../engine/engine.ts';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { WorkContext } from '../contract/operation.ts';
import { cancelRun } from './cancel-run.ts';

const single = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('a', 'read', run)], edges('> a', 'a >'));

/** Cancels run `r` while its owner is in node `a`, which goes on only once the request is acknowledged. */
async function cancelLate(goOn: (ctx: NodeContext) => unknown): Promise<unknown> {
  const begun = Promise.withResolvers<void>();
  const acknowledged = Promise.withResolvers<void>();
  const graph = single(async (ctx) => {
    begun.resolve();
    await acknowledged.promise;
    return goOn(ctx);
  });
  const bench = createBench();
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  await begun.promise;
  const other = createEngine({ ...bench.options, ids: testIds('worker-2') });
  const cancel = async (runId: string): Promise<void> => {
    await other.cancel(runId);
    acknowledged.resolve();
    await handle.result();
  };
  const context = { tenant: 'default', store: bench.store, engine: { ...other, cancel } };
  return cancelRun.run(context as unknown as WorkContext, { run: 'r' });
}

test('E7.2 a cancel that was acknowledged, and came too late, says so', async () => {
  await expect(cancelLate(() => 'done')).rejects.toMatchObject({
    code: 'RUN_FINISHED',
    message: 'run r is completed',
    hint: expect.stringContaining('came too late'),
  });
});

const rests: readonly (readonly [status: string, goOn: (ctx: NodeContext) => unknown])[] = [
  ['paused', (ctx: NodeContext) => ctx.ask({ prompt: 'Go on?' })],
  ['failed', () => Promise.reject(new Error('no'))],
];

test.each(rests)(
  'E7.2 a run that %s after the request, before its owner saw it, is cancelled all the same',
  async (_, goOn) => {
    expect(await cancelLate(goOn)).toEqual({ runId: 'r', status: 'cancelled' });
  },
);
