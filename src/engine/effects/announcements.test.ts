/** What an announcement stands for: what the next attempt sees, and what becomes of it in a failing run. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest, type Bench } from '../../../test/engine-kit.ts';
import { outcome } from '../../graph/contracts/node-contract.ts';
import type { Store } from '../../ports/store.ts';

/** A bench whose store takes its time for each commit, in virtual ms. */
function slowBench(commitMs: number): Bench {
  const { store, clock } = createBench();
  const slow: Store = {
    ...store,
    commit: async (commit) => {
      await clock.sleep(commitMs);
      return store.commit(commit);
    },
  };
  return { ...createBench({ store: slow, clock }), clock };
}

test('E9 an idempotent effect that may have happened sees in its next attempt what it saw, under its key', async () => {
  const bench = createBench();
  const seen: unknown[] = [];
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'write',
        (ctx) => {
          seen.push([ctx.attempt, ctx.idempotencyKey, ctx.state.scratch['n']]);
          if (ctx.attempt === 1) throw new Error('it is not known whether it happened');
          return 'done';
        },
        { idempotent: true, retry: { attempts: 2, delayMs: 1_000 } },
      ),
      node('b', 'read', async () => {
        await bench.clock.sleep(500);
        return outcome({ scratch: { n: 1 } });
      }),
    ],
    edges('> a', '> b', 'a >', 'b >'),
  );
  expect((await runToRest(bench.engine, graph)).status).toBe('completed');
  const key: unknown = expect.stringMatching(/^k/);
  expect(seen).toEqual([
    [1, key, undefined],
    [2, key, undefined],
  ]);
});

test('G8 E3.5 an effect whose intent is durable runs though a sibling has failed, and a resume does not run it again', async () => {
  const bench = slowBench(60);
  let calls = 0;
  let isBroken = true;
  const graph = graphOf(
    'g',
    [
      node('pay', 'write', () => (calls += 1)),
      node('fails', 'read', async () => {
        await bench.clock.sleep(30);
        if (isBroken) throw new Error('now');
        return 'well';
      }),
    ],
    edges('> pay', '> fails', 'pay >', 'fails >'),
  );
  const failed = await runToRest(bench.engine, graph, {}, 'r');
  expect([failed.status, failed.failed, calls]).toEqual(['failed', ['fails'], 1]);
  expect(failed.state.outputs).toEqual({ pay: 1 });
  isBroken = false;
  const done = await resumeToRest(bench.engine, 'r', graph);
  expect([done.status, done.waits, calls]).toEqual(['completed', [], 1]);
});
