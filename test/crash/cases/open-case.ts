/** What every real crash case needs: the SQLite store and the machine's clock, in a trial's folder. */
import { join } from 'node:path';
import { createSystemIds } from '../../../src/app/system-ids.ts';
import { systemClock } from '../../../src/app/system-clock.ts';
import { createMemoryBlobs } from '../../../src/blobs/memory-blobs.ts';
import { createEngine } from '../../../src/engine/engine.ts';
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts';
import type { CrashScript } from '../../../src/testing/crash-kit/crash-script.ts';

export const sqliteCase: Pick<CrashScript, 'openStore' | 'openEngine'> = {
  openStore: (folder) => openSqliteStore({ path: join(folder, 'runs.db') }),
  openEngine: (store) =>
    createEngine({ store, blobs: createMemoryBlobs(), clock: systemClock, ids: createSystemIds() }),
};
