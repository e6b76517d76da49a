/** A process that removes expired runs until nothing expires, and says after each that it is gone. Its argument is the URL of a store. */
import { openHistory, openStore } from '../../src/index.ts';

const store = openStore(process.argv[2] ?? '');
for await (const { runId } of openHistory(store).applyRetention({ runs: 20, perLabel: { user: 1 } }))
  process.stdout.write(`${runId}\n`);
await store.close();
