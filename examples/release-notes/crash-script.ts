/** The example as a script of the crash kit: it lives in its trial's folder, on the repository that REPOSITORY names. */
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { runCrashScript } from '../../src/testing/crash-kit/crash-processes.ts';
import { graph } from './graph.ts';
import { readLedger } from './ledger.ts';

await runCrashScript({
  enter: (folder) => process.chdir(folder),
  graph: () => graph.graph,
  input: { repo: process.env['REPOSITORY'], ledger: 'ledger.jsonl', out: 'NOTES.md' },
  answer: () => 'approve',
  openStore: () => openSqliteStore({ path: 'runs.db' }),
  // The oracle of this example is its ledger.
  inspect: async () => (await readLedger('ledger.jsonl')).map(({ effect }) => effect).sort(),
});
