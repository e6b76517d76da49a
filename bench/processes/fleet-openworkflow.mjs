/**
 * `node fleet-openworkflow.mjs STORE RUNS` starts runs of ten steps and leaves them to workers, each of which is
 * `node fleet-openworkflow.mjs STORE`: it prints a line for each run that it has completed, until it is told to stop.
 */
import { OpenWorkflow } from 'openworkflow';

const [store, runs] = process.argv.slice(2);
const backend = store.startsWith('postgres:')
  ? await (await import('openworkflow/postgres')).BackendPostgres.connect(store)
  : (await import('openworkflow/sqlite')).BackendSqlite.connect(store);
const text = 'a step of the run writes some words '.repeat(28).slice(0, 990);
const ow = new OpenWorkflow({ backend });
const workflow = ow.defineWorkflow({ name: 'measured' }, async ({ step }) => {
  for (let index = 0; index < 10; index += 1) await step.run({ name: `s${index}` }, async () => ({ index, text }));
  process.stdout.write('completed\n');
});
if (runs !== undefined) {
  const startAll = async (from) => {
    for (let index = from; index < Number(runs); index += 8) await workflow.run({});
  };
  await Promise.all(Array.from({ length: 8 }, (_, from) => startAll(from)));
  process.exit(0);
}
const worker = ow.newWorker({ concurrency: 16 });
await worker.start();
process.once('SIGTERM', async () => {
  await worker.stop();
  process.exit(0);
});
