/** Live pieces of runs in a SQLite file of their own beside the store, which several processes may share. */
import { existsSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LiveFeed, LivePiece } from '../../ports/live-feed.ts';
import { createFile, loadDriver } from './file/open-database.ts';
import { useWriteAheadLog } from './tables/schema.ts';
import { mapSqliteError } from './sqlite-errors.ts';

export interface SqliteLiveFeed extends LiveFeed {
  close(): void;
}

interface PieceRow {
  readonly n: number;
  readonly node: string;
  readonly detail: string;
}

interface OpenFeed {
  readonly db: DatabaseSync;
  readonly insert: StatementSync;
  readonly remove: StatementSync;
  readonly removeAll: StatementSync;
  readonly read: StatementSync;
}

/** Pieces of a killed process whose run nobody took up since are removed after this time. */
const staleMs = 24 * 60 * 60 * 1000;
/** Pieces are not worth waiting for longer: a write holds up the event loop meanwhile. */
const busyTimeoutMs = 100;

// Nothing in this file is worth a wait for the disk: what is lost with it is recorded, or made again.
const settings = `PRAGMA busy_timeout = ${busyTimeoutMs}; PRAGMA synchronous = OFF;`;
const schema = `CREATE TABLE IF NOT EXISTS pieces (
  tenant TEXT NOT NULL, run_id TEXT NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL, node TEXT NOT NULL,
  detail TEXT NOT NULL, PRIMARY KEY (tenant, run_id, n)) STRICT, WITHOUT ROWID;`;

/** @param path - of the store. The file is made with the first piece, readable by its owner only */
export function openSqliteLiveFeed(path: string, now: () => number): SqliteLiveFeed {
  const file = `${path}-live`;
  let open: OpenFeed | undefined;
  let isClosed = false;
  const attempt = async <Reply>(act: () => Reply): Promise<Reply> => {
    try {
      return act();
    } catch (error) {
      throw mapSqliteError(error, `sqlite:${file}`);
    }
  };
  const opened = (creates: boolean): OpenFeed | undefined => {
    if (isClosed || open !== undefined || (!creates && !existsSync(file))) return open;
    createFile(file);
    const db = loadDriver()(file);
    db.exec(settings);
    useWriteAheadLog(db);
    db.exec(schema);
    db.prepare('DELETE FROM pieces WHERE at < ?').run(now() - staleMs);
    return (open = {
      db,
      insert: db.prepare(
        'INSERT OR REPLACE INTO pieces (tenant, run_id, n, at, node, detail) VALUES (?, ?, ?, ?, ?, ?)',
      ),
      remove: db.prepare('DELETE FROM pieces WHERE tenant = ? AND run_id = ? AND n = ?'),
      removeAll: db.prepare('DELETE FROM pieces WHERE tenant = ? AND run_id = ?'),
      read: db.prepare('SELECT n, node, detail FROM pieces WHERE tenant = ? AND run_id = ? AND n > ? ORDER BY n'),
    });
  };
  return {
    pollMs: 20,
    write: ({ tenant, runId }, { remove = [], add = [] }) =>
      attempt(() => {
        const feed = opened(add.length > 0);
        if (feed === undefined) return;
        feed.db.exec('BEGIN IMMEDIATE');
        try {
          if (remove === 'all') feed.removeAll.run(tenant, runId);
          else for (const n of remove) feed.remove.run(tenant, runId, n);
          for (const { n, node, detail } of add)
            feed.insert.run(tenant, runId, n, now(), JSON.stringify(node), JSON.stringify(detail));
          feed.db.exec('COMMIT');
        } catch (error) {
          if (feed.db.isTransaction) feed.db.exec('ROLLBACK');
          throw error;
        }
      }),
    read: ({ tenant, runId }, after) =>
      attempt(() => {
        const rows = (opened(false)?.read.all(tenant, runId, after) ?? []) as unknown as readonly PieceRow[];
        return rows.map(({ n, node, detail }): LivePiece => ({
          n,
          node: JSON.parse(node) as readonly string[],
          detail: JSON.parse(detail) as unknown,
        }));
      }),
    close: () => {
      isClosed = true;
      open?.db.close();
      open = undefined;
    },
  };
}
