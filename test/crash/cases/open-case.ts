/** What every real crash case needs: the store in a trial's folder, or on a server that the test names. */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { openFileStore } from '../../../src/stores/file/index.ts';
import { openPostgresStore } from '../../../src/stores/postgres/index.ts';
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts';
import type { CrashScript } from '../../../src/testing/crash-kit/crash-processes.ts';

export const sqliteCase: Pick<CrashScript, 'openStore'> = {
  openStore: (folder) => {
    const url = process.env['CAIRN_CASE_POSTGRES'];
    // A schema for each trial: tables of its own on one server.
    if (url !== undefined)
      return openPostgresStore({ url: `${url}?schema=trial_${hash('sha256', folder, 'hex').slice(0, 16)}` });
    return process.env['CAIRN_CASE_STORE'] === 'file'
      ? openFileStore({ path: join(folder, 'runs') })
      : openSqliteStore({ path: join(folder, 'runs.db') });
  },
};
