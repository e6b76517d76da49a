/** The example as a script of the crash kit: it lives in its trial's folder, on the repository that REPOSITORY names. */
import { rmSync } from 'node:fs';
import { createSystemIds } from '../../src/app/system-ids.ts';
import { systemClock } from '../../src/app/system-clock.ts';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import {
  crashOrdersVariable,
  crashResultFile,
  runCrashScript,
  type CrashOrders,
} from '../../src/testing/crash-kit-script.ts';
import { graph } from './graph.ts';
import { readLedger } from './ledger.ts';

const { folder } = JSON.parse(process.env[crashOrdersVariable] ?? '{}') as CrashOrders;
process.chdir(folder);

await runCrashScript({
  graph: () => graph.graph,
  input: { repo: process.env['REPOSITORY'], ledger: 'ledger.jsonl', out: 'NOTES.md' },
  answer: () => 'approve',
  openStore: () => openSqliteStore({ path: 'runs.db' }),
  openEngine: (store) =>
    createEngine({ store, blobs: createMemoryBlobs(), clock: systemClock, ids: createSystemIds() }),
});

// The oracle of this example is its ledger. A trial in which an effect is missing or doubled has no result.
const effects = (await readLedger('ledger.jsonl')).map(({ effect }) => effect).sort();
if (effects.join() !== 'draft Added,draft Fixed,publish') {
  rmSync(crashResultFile);
  throw new Error(`effects: ${effects.join()}`);
}
