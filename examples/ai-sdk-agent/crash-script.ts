/** The example as a script of the crash kit: the world outside lives in its trial's folder. */
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { runCrashScript } from '../../src/testing/crash-kit/crash-script.ts';
import { graph } from './durable.ts';
import { readLines } from './outside.ts';

await runCrashScript({
  enter: (folder) => {
    process.chdir(folder);
    process.env['OUTSIDE'] = folder;
  },
  graph: () => graph.graph,
  input: {},
  openStore: () => openSqliteStore({ path: 'runs.db' }),
  // The keys of refunds differ from run to run; what was paid does not.
  inspect: () => readLines('bank').map((line) => line.split(' ').slice(1).join(' ')),
});
