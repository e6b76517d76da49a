/**
 * `node fleet-dbos.mjs STORE RUNS` starts runs of ten steps and leaves them to workers, each of which is `node fleet-dbos.mjs STORE`: it
 * prints a line for each run that it has completed, until it is told to stop.
 */
import { DBOS } from '@dbos-inc/dbos-sdk';

const [store, runs] = process.argv.slice(2);
const text = 'a step of the run writes some words '.repeat(28).slice(0, 990);
const workflow = DBOS.registerWorkflow(
  async () => {
    for (let index = 0; index < 10; index += 1)
      await DBOS.runStep(async () => ({ index, text }), { name: `s${index}` });
    process.stdout.write('completed\n');
  },
  { name: 'measured' },
);
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: store,
  logLevel: 'error',
  applicationVersion: '1',
  executorID: `${process.pid}`,
  runAdminServer: false,
  listenQueues: runs === undefined ? ['queued'] : ['none'],
});
await DBOS.launch();
// It looks for work once a second by default, and takes no more than its concurrency: so it would rest most of the time.
await DBOS.registerQueue('queued', { workerConcurrency: 16, minPollingIntervalMs: 20 });
if (runs !== undefined) {
  const startAll = async (from) => {
    for (let index = from; index < Number(runs); index += 8)
      await DBOS.startWorkflow(workflow, { queueName: 'queued' })();
  };
  await Promise.all(Array.from({ length: 8 }, (_, from) => startAll(from)));
  process.exit(0);
}
process.once('SIGTERM', async () => {
  await DBOS.shutdown();
  process.exit(0);
});
