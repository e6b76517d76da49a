/** A worker of the demo of limits, as its own process. */
import { createWorker, openStore } from '../../src/index.ts';
import { compileReports, Oracle } from './graph.ts';

const store = openStore(process.env['CAIRN_STORE'] ?? 'memory:');
const report = compileReports(store, new Oracle(Number(process.env['CAIRN_ORACLE'])));
const worker = createWorker({ graphs: [report], concurrency: 16, pollMs: 200 });
process.stdout.write('ready\n');

process.once('SIGTERM', () => {
  const stop = async (): Promise<void> => {
    await worker.stop();
    await report.close();
    await store.close();
  };
  void stop();
});
