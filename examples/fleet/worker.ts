/** A worker of the fleet, as its own process: advances orders of the store in CAIRN_STORE until it is stopped. */
import { createWorker } from '../../src/index.ts';
import { orders } from './graph.ts';

// A short lease, so that the orders of a worker that was killed go on soon.
const graph = orders.compile({ store: process.env['CAIRN_STORE'] ?? 'memory:', leaseMs: 2_000, wakes: false });

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const worker = createWorker({
  graphs: [graph],
  concurrency: 8,
  pollMs: 200,
  onTaken: (runId) => say(`taken ${runId}`),
  onRested: ({ runId, status }) => say(`${status} ${runId}`),
  onError: (runId, error) => say(`error ${runId} ${String(error)}`),
});
say('ready');

process.once('SIGTERM', () => {
  const stop = async (): Promise<void> => {
    await worker.stop();
    await graph.close();
  };
  void stop();
});
