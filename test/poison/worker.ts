/** A worker over the graphs of poison, whose witness waits a moment only. Arguments: the URL of the store, and `apart` or `alone`. */
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { isolateIn } from '../../src/app/isolation/isolation.ts';
import { createEngineWorker } from '../../src/engine/worker.ts';
import * as graphs from './graphs.ts';

const [, , store = '', way = 'apart'] = process.argv;
const url = new URL('./graphs.ts', import.meta.url).href;
const engine = createDefaultEngine({ store, wakes: false, leaseMs: 1_000 });
for (const { graph } of Object.values(graphs)) engine.know(graph);
createEngineWorker({
  engine,
  pollMs: 100,
  concurrency: 100,
  onError: (runId, error) => console.error(runId, error),
  onRested: ({ runId, status }) => console.log(runId, status),
  ...(way === 'apart' && { isolation: isolateIn(() => ({ kind: 'graphs', url, store }), { witnessMs: 100 }) }),
});
