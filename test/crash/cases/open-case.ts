/** What every real crash case needs: the store in a trial's folder, or on a server. CAIRN_CASE_STORE says which: `sqlite`, `file`, or a URL. */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { openFileStore } from '../../../src/stores/file/index.ts';
import { openPostgresStore } from '../../../src/stores/postgres/index.ts';
import { openRedisStore } from '../../../src/stores/redis/index.ts';
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts';
import type { CrashScript } from '../../../src/testing/crash-kit/crash-processes.ts';

export const storeOfCase: Pick<CrashScript, 'openStore'> = {
  openStore: (folder) => {
    const { CAIRN_CASE_STORE: store = 'sqlite' } = process.env;
    // A schema, or keys, for each trial on one server.
    const trial = `trial_${hash('sha256', folder, 'hex').slice(0, 16)}`;
    if (store === 'file') return openFileStore({ path: join(folder, 'runs') });
    if (store === 'sqlite') return openSqliteStore({ path: join(folder, 'runs.db') });
    return store.startsWith('redis:')
      ? openRedisStore({ url: `${store}?prefix=${trial}` })
      : openPostgresStore({ url: `${store}?schema=${trial}` });
  },
};
