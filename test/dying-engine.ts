/** An engine whose process is killed at a commit of one's choice, for tests of what the next process makes of it. */
import type { Engine } from '../src/engine/api.ts';
import { createEngine } from '../src/engine/engine.ts';
import type { Store } from '../src/ports/store.ts';
import { storeMethods } from '../src/testing/faulty-store.ts';
import type { Bench } from './engine-kit.ts';

/** After this many commits have landed, its store hears nothing more of it, and it hears nothing more of the store. */
export function dyingEngine(bench: Bench, commits: number): Engine {
  let left = commits;
  const call =
    (method: (typeof storeMethods)[number]) =>
    async (...args: readonly unknown[]): Promise<unknown> => {
      if (left <= 0 && method === 'commit') left = -1;
      if (left < 0) return new Promise(() => {});
      if (method === 'commit') left -= 1;
      return (bench.store[method] as (...given: readonly unknown[]) => Promise<unknown>)(...args);
    };
  const store = {
    ...bench.store,
    ...Object.fromEntries(storeMethods.map((method) => [method, call(method)])),
  } as Store;
  return createEngine({ ...bench.options, store });
}

/** Lets whatever can still happen happen. */
export async function settleDown(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
