/**
 * Prints what 100 runs of 10 steps take openworkflow on Postgres in a fresh process, in ms. Copied beside its installed packages:
 * `node openworkflow-postgres.mjs URL RUNS STEPS`.
 */
import { OpenWorkflow } from 'openworkflow';
import { BackendPostgres } from 'openworkflow/postgres';

const [url, ...numbers] = process.argv.slice(2);
const [runs, steps] = numbers.map(Number);
const text = 'a step of the run writes some words '.repeat(28).slice(0, 990);
const ow = new OpenWorkflow({ backend: await BackendPostgres.connect(url) });
const ended = Promise.withResolvers();
let remaining = runs;
const workflow = ow.defineWorkflow({ name: `measured-${process.pid}` }, async ({ step }) => {
  for (let index = 0; index < steps; index += 1) await step.run({ name: `s${index}` }, async () => ({ index, text }));
  remaining -= 1;
  if (remaining === 0) ended.resolve();
});
const worker = ow.newWorker({ concurrency: runs });
const startMs = performance.now();
await Promise.all(Array.from({ length: runs }, () => workflow.run({})));
await worker.start();
await ended.promise;
console.log(JSON.stringify({ tookMs: performance.now() - startMs }));
process.exit(0);
