/** Idempotency keys and wait ids: the same where it is the same effect or question, and never otherwise (X1, W1). */
import { expect, test } from 'vitest';
import { within } from '../../../test/support/awaited.ts';
import type { Commit } from '../../ports/store.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

const never = new Promise<never>(() => {});

test('X1 W1 after a save, a child run has other keys and a question of the same name another id', async () => {
  const { engine } = createBench();
  const keys: string[] = [];
  const child = graphOf('c', [node('w', 'write', (ctx) => keys.push(ctx.idempotencyKey))], edges('> w', 'w >'));
  const graph = graphOf(
    'g',
    [
      node('p', 'read', async (ctx) => {
        for (let i = Number(ctx.savedState ?? 0); i < 2; i += 1) {
          await ctx.run(child, {});
          await ctx.ask({ prompt: `${i}?` });
          await ctx.save(i + 1);
        }
      }),
    ],
    edges('> p', 'p >'),
  );
  const first = await runToRest(engine, graph, {}, 'r');
  const firstId = first.waits[0]?.waitId ?? '';
  await engine.answer('r', firstId, 'x');
  const second = await resumeToRest(engine, 'r', graph);
  expect(new Set(keys).size).toBe(2);
  expect(second.waits[0]?.waitId).not.toBe(firstId);
  // A repeat of the first answer does not answer the second question.
  await engine.answer('r', firstId, 'x');
  expect((await resumeToRest(engine, 'r', graph)).status).toBe('paused');
});

test('X a fork retries an idempotent step in doubt with the key it was begun under', async () => {
  const bench = createBench();
  const keys: string[] = [];
  const begun = Promise.withResolvers<void>();
  const graph = graphOf(
    'g',
    [
      node('p', 'read', (ctx) =>
        ctx.step('s', { effect: 'write', idempotent: true, input: 1 }, ({ idempotencyKey }) => {
          begun.resolve();
          return keys.push(idempotencyKey) === 1 ? never : 1;
        }),
      ),
    ],
    edges('> p', 'p >'),
  );
  await bench.engine.start(graph, {}, { runId: 'r' });
  await within('the step begins, behind its intent', begun.promise);
  const { store } = bench;
  const second = afterCrash(bench);
  const taken = await store.claimRun({
    tenant: 'default',
    runId: 'r',
    workerId: 'x',
    leaseMs: 1,
    takeFrom: 'worker-1',
  });
  if (taken.claim === undefined) throw new Error('the claim was not taken');
  await store.releaseClaim(taken.claim);
  const fork = await second.fork({ runId: 'r', seq: taken.run.head }, { runId: 'f' });
  expect((await resumeToRest(second, fork.runId, graph)).status).toBe('completed');
  expect(keys).toEqual([keys[0], keys[0]]);
});

test('X3 an idempotent effect that failed keeps its key while it waits for its next attempt, in a fork too', async () => {
  const bench = createBench();
  const keys: string[] = [];
  const graph = graphOf(
    'g',
    [
      node(
        'w',
        'write',
        (ctx) => {
          if (keys.push(ctx.idempotencyKey) !== 2) throw new Error('lost');
        },
        { idempotent: true, retry: { attempts: 2, delayMs: 1_000 } },
      ),
    ],
    edges('> w', 'w >'),
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  const seqs: number[] = [];
  for await (const event of handle.events())
    if (event.type === 'checkpoint' && event.change.some((part) => part.kind === 'retry')) seqs.push(event.seq);
  keys.length = 1;
  const fork = await bench.engine.fork(
    { runId: 'r', seq: seqs[0] as number },
    { runId: 'f', set: [{ path: ['input'], value: 2 }] },
  );
  await resumeToRest(bench.engine, fork.runId, graph);
  expect(new Set(keys).size).toBe(1);
});

test('E3 closing while a step waits for its intent begins nothing and leaves nothing in doubt', async () => {
  const bench = createBench();
  let runs = 0;
  const graph = graphOf(
    'g',
    [node('p', 'read', (ctx) => ctx.step('s', { effect: 'write' }, () => (runs += 1)))],
    edges('> p', 'p >'),
  );
  const asked = Promise.withResolvers<void>();
  const landing = Promise.withResolvers<void>();
  const plain = { ...bench.store };
  Object.assign(bench.store, {
    commit: async (given: Commit) => {
      asked.resolve();
      await landing.promise;
      return plain.commit(given);
    },
  });
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  await within('the commit of the intent', asked.promise);
  const closing = bench.engine.close();
  landing.resolve();
  await closing;
  await expect(handle.result()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  expect(runs).toBe(0);
  const second = afterCrash(bench);
  expect((await resumeToRest(second, 'r', graph)).status).toBe('completed');
  expect(runs).toBe(1);
});

test('O2 an attempt of an effect without a timeout ends by the deadline of its intent', async () => {
  const { engine } = createBench({ bounds: { effectMs: 50 } });
  const late = { code: 'NODE_TIMED_OUT' };
  const whole = graphOf('g', [node('w', 'write', () => never)], edges('> w', 'w >'));
  expect(await runToRest(engine, whole)).toMatchObject({ status: 'failed', error: late });
  const signals: AbortSignal[] = [];
  const composed = graphOf(
    'h',
    [
      node('p', 'read', (ctx) =>
        ctx.step('s', { effect: 'write' }, ({ signal }) => {
          signals.push(signal);
          return never;
        }),
      ),
    ],
    edges('> p', 'p >'),
  );
  expect(await runToRest(engine, composed)).toMatchObject({ status: 'failed', error: late });
  expect(signals[0]?.aborted).toBe(true);
});

test('P4 a commit that landed under a lost claim begins nothing', async () => {
  const bench = createBench();
  let runs = 0;
  const graph = graphOf('g', [node('w', 'write', () => (runs += 1))], edges('> w', 'w >'));
  const plain = { ...bench.store };
  Object.assign(bench.store, {
    commit: async (given: Commit) => {
      await plain.commit(given);
      return { isHeld: false };
    },
  });
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  await expect(handle.result()).rejects.toMatchObject({ code: 'CLAIM_LOST' });
  expect(runs).toBe(0);
});
