/** A fork whose original cannot be read for a moment: that is no failure of any node (X2). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { CairnError } from '../../errors.ts';
import type { Store } from '../../ports/store.ts';

test('X2 a step whose record cannot be read now fails nothing: the run goes on later, and takes it', async () => {
  let calls = 0;
  const pay = node('pay', 'read', async (ctx) => {
    await ctx.step('charge', { effect: 'external', input: 1 }, () => (calls += 1));
    return ctx.state.input;
  });
  const graph = graphOf('paying', [pay], edges('> pay', 'pay >'));
  const bench = createBench();
  const original = await runToRest(bench.engine, graph, { a: 1 }, 'original');
  expect(original.status).toBe('completed');
  const fork = await bench.engine.fork({ runId: 'original', seq: 0 }, { set: [{ path: ['input'], value: { a: 2 } }] });
  let isAway = false;
  const store: Store = {
    ...bench.store,
    readCheckpoints: async (key, range) => {
      // One checkpoint is read for the outcome in it; whole histories were read before.
      if (isAway && range.from === range.to)
        throw new CairnError('STORE_UNAVAILABLE', { store: 'test', reason: 'away' });
      return bench.store.readCheckpoints(key, range);
    },
  };
  isAway = true;
  const away = createBench({ ...bench.options, store });
  await expect(resumeToRest(away.engine, fork.runId, graph)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  isAway = false;
  const result = await resumeToRest(away.engine, fork.runId, graph);
  expect(result).toMatchObject({ status: 'completed', failed: [] });
  expect(calls).toBe(1);
});
