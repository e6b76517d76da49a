/** The example as a script of the crash kit: it lives in its trial's folder, on the repository that REPOSITORY names. */
import { createSystemIds } from '../../src/app/system-ids.ts';
import { systemClock } from '../../src/app/system-clock.ts';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { runCrashScript } from '../../src/testing/crash-kit/crash-script.ts';
import { graph } from './graph.ts';
import { readLedger } from './ledger.ts';

await runCrashScript({
  enter: (folder) => process.chdir(folder),
  graph: () => graph.graph,
  input: { repo: process.env['REPOSITORY'], ledger: 'ledger.jsonl', out: 'NOTES.md' },
  answer: () => 'approve',
  openStore: () => openSqliteStore({ path: 'runs.db' }),
  openEngine: (store) =>
    createEngine({ store, blobs: createMemoryBlobs(), clock: systemClock, ids: createSystemIds() }),
  inspect: async (result) => {
    // The oracle of this example is its ledger.
    const effects = (await readLedger('ledger.jsonl')).map(({ effect }) => effect).sort();
    if (effects.join() !== 'draft Added,draft Fixed,publish') throw new Error(`effects: ${effects.join()}`);
    return result;
  },
});
