/**
 * 500 steps of openworkflow up to a signal (`pause`), or the rest after the signal in a fresh process (`resume`). Copied beside its
 * installed packages and run there: `node openworkflow.mjs FOLDER pause|resume`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { OpenWorkflow } from 'openworkflow';
import { BackendSqlite } from 'openworkflow/sqlite';

const [folder, part] = process.argv.slice(2);
const visits = 500;
const text = 'a step of the loop writes some words '.repeat(27).slice(0, 990);
const ow = new OpenWorkflow({ backend: BackendSqlite.connect(`${folder}/openworkflow.db`) });
const reached = Promise.withResolvers();
const ended = Promise.withResolvers();
const workflow = ow.defineWorkflow({ name: 'loop' }, async ({ step }) => {
  let last;
  for (let visit = 1; visit <= visits; visit += 1)
    last = await step.run({ name: `step${visit}` }, () => ({ visit, text }));
  reached.resolve();
  await step.waitForSignal({ name: 'ask', signal: 'ask' });
  await step.run({ name: 'end' }, () => last.visit);
  ended.resolve();
  return last;
});
const worker = ow.newWorker({ concurrency: 1 });
if (part === 'pause') {
  await worker.start();
  await workflow.run({}, { idempotencyKey: 'resumed' });
  await reached.promise;
  // It tells nobody when it has parked the run.
  await sleep(400);
} else {
  await ow.sendSignal({ signal: 'ask', data: 'yes' });
  await worker.start();
  await ended.promise;
}
process.exit(0);
