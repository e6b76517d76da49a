/** What every real crash case needs: the SQLite store in a trial's folder. */
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts';
import type { CrashScript } from '../../../src/testing/crash-kit/crash-processes.ts';

export const sqliteCase: Pick<CrashScript, 'openStore'> = {
  openStore: (folder) => openSqliteStore({ path: join(folder, 'runs.db') }),
};
