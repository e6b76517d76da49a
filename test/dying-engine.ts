/** Engines whose process dies at a chosen moment, for tests of how the next process continues. */
import type { Engine, RunResult } from '../src/engine/api.ts';
import { createEngine } from '../src/engine/engine.ts';
import type { Graph } from '../src/graph/graph.ts';
import type { Store } from '../src/ports/store.ts';
import { storeMethods, type StoreMethod } from '../src/testing/faulty-store.ts';
import { afterCrash, createBench, resumeToRest, type Bench } from './engine-kit.ts';
import { within } from './support/awaited.ts';

/** An engine that loses its store, in both directions, from the first store call for which `isDead` returns true. */
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

/** An engine that dies at the commit after the given number of commits. */
export function dyingEngine(bench: Bench, commits: number, onDeath: () => void = () => {}): Engine {
  let left = commits;
  return mortalEngine(bench, (method) => {
    if (method === 'commit' && (left -= 1) < 0) onDeath();
    return left < 0;
  });
}

/**
 * Starts the run `r` in a process that dies at the commit after the given number of commits, and lets another process go on with it.
 * Undefined: it came to rest before.
 */
export async function restartedAfter(bench: Bench, commits: number, graph: Graph): Promise<RunResult | undefined> {
  const died = Promise.withResolvers<undefined>();
  const handle = await dyingEngine(bench, commits, () => died.resolve(undefined)).start(graph, {}, { runId: 'r' });
  if ((await Promise.race([handle.result(), died.promise])) !== undefined) return undefined;
  await settleDown();
  return resumeToRest(afterCrash(bench), 'r', graph);
}

/** An engine that dies when `kill` is called. */
export function killableEngine(bench: Bench): { readonly engine: Engine; readonly kill: () => void } {
  let isDead = false;
  return { engine: mortalEngine(bench, () => isDead), kill: () => (isDead = true) };
}

/** Waits until everything that can happen without outside help has happened. */
export async function settleDown(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A run `r` whose process was killed during its effect, which never ends. Called again, the effect returns how often it was called. */
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
