/** Engines whose process is killed at a moment of one's choice, for tests of what the next process makes of it. */
import type { Engine } from '../src/engine/api.ts';
import { createEngine } from '../src/engine/engine.ts';
import type { Graph } from '../src/graph/graph.ts';
import type { Store } from '../src/ports/store.ts';
import { storeMethods, type StoreMethod } from '../src/testing/faulty-store.ts';
import { createBench, type Bench } from './engine-kit.ts';
import { within } from './support/awaited.ts';

/** An engine that neither reaches its store nor hears of it any more, once `isDead` says so of a call. */
function mortalEngine(bench: Bench, isDead: (method: StoreMethod) => boolean): Engine {
  const call =
    (method: StoreMethod) =>
    async (...args: readonly unknown[]): Promise<unknown> => {
      if (isDead(method)) return new Promise(() => {});
      return (bench.store[method] as (...given: readonly unknown[]) => Promise<unknown>)(...args);
    };
  const store = {
    ...bench.store,
    ...Object.fromEntries(storeMethods.map((method) => [method, call(method)])),
  } as Store;
  return createEngine({ ...bench.options, store });
}

/** One that dies at its next commit after this many have landed. */
export function dyingEngine(bench: Bench, commits: number, onDeath: () => void = () => {}): Engine {
  let left = commits;
  return mortalEngine(bench, (method) => {
    if (method === 'commit' && (left -= 1) < 0) onDeath();
    return left < 0;
  });
}

/** One that dies when it is told to. */
export function killableEngine(bench: Bench): { readonly engine: Engine; readonly kill: () => void } {
  let isDead = false;
  return { engine: mortalEngine(bench, () => isDead), kill: () => (isDead = true) };
}

/** Lets whatever can still happen happen. */
export async function settleDown(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A run `r` whose process was killed in its effect, which never ends; called again, the effect says how often it was called. */
export async function killedInEffect(
  make: (effect: () => unknown) => Graph,
  bench: Bench = createBench(),
): Promise<{ readonly bench: Bench; readonly graph: Graph; readonly calls: () => number }> {
  const begun = Promise.withResolvers<void>();
  let calls = 0;
  const graph = make(() => {
    begun.resolve();
    return (calls += 1) === 1 ? new Promise(() => {}) : `call ${calls}`;
  });
  const { engine, kill } = killableEngine(bench);
  await engine.start(graph, {}, { runId: 'r' });
  await within('the effect is called', begun.promise);
  kill();
  await settleDown();
  return { bench, graph, calls: () => calls };
}
