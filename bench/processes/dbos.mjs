/** Prints what 100 runs of 10 steps take DBOS in a fresh process, in ms. Copied beside its installed packages: `node dbos.mjs URL RUNS STEPS`. */
import { DBOS } from '@dbos-inc/dbos-sdk';

const [url, ...numbers] = process.argv.slice(2);
const [runs, steps] = numbers.map(Number);
const text = 'a step of the run writes some words '.repeat(28).slice(0, 990);
const workflow = DBOS.registerWorkflow(
  async () => {
    for (let index = 0; index < steps; index += 1)
      await DBOS.runStep(async () => ({ index, text }), { name: `s${index}` });
  },
  { name: 'measured' },
);
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: url,
  logLevel: 'error',
  applicationVersion: '1',
  executorID: 'local',
  runAdminServer: false,
});
await DBOS.launch();
const startMs = performance.now();
await Promise.all(Array.from({ length: runs }, () => workflow()));
console.log(JSON.stringify({ tookMs: performance.now() - startMs }));
process.exit(0);
