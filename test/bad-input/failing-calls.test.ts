/** A store that cannot be reached at every k-th call: each failure is typed, nothing is lost or done twice, and repeating helps. */
import { expect, test } from 'vitest';
import { createEngine } from '../../src/engine/engine.ts';
import { CairnError } from '../../src/errors.ts';
import type { Store } from '../../src/ports/store.ts';
import { storeMethods } from '../../src/testing/faulty-store.ts';
import { changesOf, createBench, edges, graphOf, node } from '../engine-kit.ts';

/** Fails about every k-th call, before it is made or after, in turns; a little out of step, so that one that is repeated gets through. */
function failEvery(store: Store, k: number): Store {
  let calls = 0;
  let failures = 0;
  let next = k;
  const unavailable = (): CairnError => new CairnError('STORE_UNAVAILABLE', { store: store.name, reason: 'a test' });
  const wrap =
    (method: (typeof storeMethods)[number]) =>
    async (...args: readonly unknown[]) => {
      calls += 1;
      const isFailing = calls === next;
      if (isFailing) next += k + ((failures += 1) % 3);
      const isBefore = failures % 2 === 1;
      if (isFailing && isBefore) throw unavailable();
      const reply = await (store[method] as (...given: readonly unknown[]) => Promise<unknown>)(...args);
      if (isFailing) throw unavailable();
      return reply;
    };
  return { ...store, ...Object.fromEntries(storeMethods.map((method) => [method, wrap(method)])) };
}

/** Repeats what failed for the store's sake, as a person would. */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!CairnError.is(error, 'STORE_UNAVAILABLE') || error.retry !== 'later' || tries > 50) throw error;
    }
  }
}

test.each([6, 7, 8, 9, 11, 13])('P6 a run comes to its end over a store whose every %i-th call fails', async (k) => {
  const bench = createBench();
  const calls: string[] = [];
  const work = (name: string) => (): string => {
    calls.push(name);
    return name;
  };
  const graph = graphOf(
    'g',
    [
      node('a', 'write', work('a')),
      node('b', 'read', async (ctx) => {
        const one = await ctx.step('one', { effect: 'write' }, work('one'));
        const answer = await ctx.ask({ prompt: '?' });
        return [one, answer, await ctx.step('two', { effect: 'write' }, work('two'))];
      }),
      node('c', 'external', work('c')),
    ],
    edges('> a', 'a > b', 'b > c', 'c >'),
  );
  const engine = createEngine({ ...bench.options, store: failEvery(bench.store, k) });
  const advance = (): Promise<{ status: string; waits: readonly { waitId: string }[] }> =>
    insist(async () => (await engine.start(graph, {}, { runId: 'r' })).result());
  const paused = await advance();
  expect(paused.status).toBe('paused');
  await insist(() => engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes'));
  const done = await insist(async () => (await engine.resume('r', { graph })).result());
  expect(done.status).toBe('completed');
  expect(done.state.outputs['b']).toEqual(['one', 'yes', 'two']);
  expect(calls).toEqual(['a', 'one', 'two', 'c']);
  const sound = createEngine({ ...bench.options, findGraph: () => graph });
  expect((await sound.inspect('r')).status).toBe('completed');
  expect((await changesOf(sound, 'r')).at(-1)).toContain('end');
});
