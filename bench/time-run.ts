/** Runs a graph to its end and says how long that took. */
import { createDefaultEngine } from '../src/app/default-engine.ts';
import type { Graph } from '../src/index.ts';
import type { Store } from '../src/ports/store.ts';
import { createStore } from './database.ts';

/** Milliseconds from the call that admits the runs, all at once, to the result of the last. The store stays open. */
export async function timeRuns(graph: Graph, store: Store, count = 1, status = 'completed'): Promise<number> {
  const engine = createDefaultEngine({ store });
  const startMs = performance.now();
  const results = await Promise.all(
    Array.from({ length: count }, async () => (await engine.start(graph, {})).result()),
  );
  const took = performance.now() - startMs;
  const other = results.find((result) => result.status !== status);
  if (other !== undefined) throw other.error ?? new Error(`a run is ${other.status}`);
  await engine.close();
  return took;
}

/** Microseconds for each of the graph's `count` nodes, in a new store of its own. */
export async function timePerNode(graph: Graph, folder: string, count: number): Promise<number> {
  const store = createStore(folder, 'normal');
  const took = await timeRuns(graph, store);
  await store.close();
  return (took / count) * 1000;
}
