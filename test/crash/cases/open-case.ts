/** What every real crash case needs: the store in a trial's folder. */
import { join } from 'node:path';
import { openFileStore } from '../../../src/stores/file/index.ts';
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts';
import type { CrashScript } from '../../../src/testing/crash-kit/crash-processes.ts';

export const sqliteCase: Pick<CrashScript, 'openStore'> = {
  openStore: (folder) =>
    process.env['CAIRN_CASE_STORE'] === 'file'
      ? openFileStore({ path: join(folder, 'runs') })
      : openSqliteStore({ path: join(folder, 'runs.db') }),
};
