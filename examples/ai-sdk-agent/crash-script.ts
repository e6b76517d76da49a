/** The example as a script of the crash kit: the world outside lives in its trial's folder. */
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { runCrashScript } from '../../src/testing/crash-kit/crash-processes.ts';
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
  inspect: () => {
    const bill = readLines('bill');
    const turns = new Set(bill).size;
    // One process was killed, so one call at most was in flight and is bought again.
    if (turns !== 4 || bill.length > turns + 1) throw new Error(`the model was asked ${bill.join(', ')}`);
    return readLines('bank').map((line) => line.split(' ').slice(1).join(' '));
  },
});
