/** Runs a graph to its end and says how long that took. */
import type { CompiledGraph } from '../src/index.ts';
import { collectGarbage } from './database.ts';

/** Milliseconds from the call that admits the run to its result. Closes the graph's engine, but not the store. */
export async function timeRun(graph: CompiledGraph, status = 'completed'): Promise<number> {
  collectGarbage();
  const startMs = performance.now();
  const result = await graph.invoke({});
  const took = performance.now() - startMs;
  if (result.status !== status) throw result.error ?? new Error(`the run is ${result.status}`);
  await graph.close();
  return took;
}
