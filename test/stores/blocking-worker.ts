/** A worker whose nodes hold the event loop: `node blocking-worker.ts URL LEASE_MS BUSY_MAX_MS`. It says what begins and what ends. */
import { AgentGraph, createWorker, END, openStore, START } from '../../src/index.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** The event loop stands still, as in a computation, and no CPU is used. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A node that holds the event loop for `input.ms`, and an effect after it. */
export function blockingGraph(): AgentGraph {
  return new AgentGraph({}, { id: 'blocking' })
    .addNode('hold', ({ runId, input }) => {
      say(`begun ${runId}`);
      block((input as { readonly ms: number }).ms);
    })
    .addNode('after', ({ runId }) => say(`after ${runId}`), { effectClass: 'external' })
    .addEdge(START, 'hold')
    .addEdge('hold', 'after')
    .addEdge('after', END);
}

if (import.meta.main) {
  const [url = '', leaseMs, busyMaxMs] = process.argv.slice(2);
  const store = openStore(url);
  const graph = blockingGraph().compile({
    store,
    wakes: false,
    leaseMs: Number(leaseMs),
    busyMaxMs: Number(busyMaxMs),
  });
  createWorker({
    graphs: [graph],
    pollMs: 100,
    onRested: ({ runId, status }) => say(`${status} ${runId}`),
  });
  say('ready');
}
