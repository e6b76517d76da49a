/** Memories in a SQLite file of their own, which several processes may share. */
import type { DatabaseSync } from 'node:sqlite';
import { readLimit, type Memories, type MemoryEntry } from '../../ports/memories.ts';
import { createFile, loadDriver } from './file/open-database.ts';
import { mapSqliteError } from './sqlite-errors.ts';
import { checkMemoriesOptions } from './sqlite-options.ts';

export interface SqliteMemoriesOptions {
  /**
   * Path of the database file, which must not be that of a store. It and its folder are created if they do not exist, readable by their
   * owner only.
   */
  readonly path: string;
  /** Returns the time in epoch ms. Default: the system clock. */
  readonly now?: () => number;
}

const schema = `
CREATE TABLE IF NOT EXISTS memory_writes (
  user TEXT NOT NULL, session TEXT NOT NULL, key TEXT NOT NULL,
  PRIMARY KEY (user, session, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memories (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user TEXT NOT NULL, session TEXT NOT NULL, content TEXT NOT NULL, at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS memories_of ON memories (user, session, id);
`;

/** Opens the memories. @throws STORE_UNAVAILABLE, CONFIG_INVALID an unknown or invalid option */
export function openSqliteMemories(options: SqliteMemoriesOptions): Memories {
  checkMemoriesOptions(options);
  const { path, now = Date.now } = options;
  const store = `sqlite:${path}`;
  const attempt = <T>(act: () => T): T => {
    try {
      return act();
    } catch (error) {
      throw mapSqliteError(error, store);
    }
  };
  const db = attempt(() => {
    createFile(path);
    const opened = loadDriver()(path);
    opened.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    opened.exec(schema);
    return opened;
  });
  return {
    read: async ({ user, session }, { text = '', limit = readLimit } = {}) =>
      attempt(() => {
        const rows = db
          .prepare('SELECT content, at FROM memories WHERE user = ? AND session = ? ORDER BY id DESC')
          .iterate(user, session) as Iterable<object>;
        return newest(rows as Iterable<MemoryEntry>, text.toLowerCase(), limit);
      }),
    write: async ({ user, session }, contents, key) =>
      attempt(() =>
        inTransaction(db, () => {
          const isNew = db
            .prepare('INSERT OR IGNORE INTO memory_writes (user, session, key) VALUES (?, ?, ?)')
            .run(user, session, key).changes;
          if (Number(isNew) === 0) return;
          const add = db.prepare('INSERT INTO memories (user, session, content, at) VALUES (?, ?, ?, ?)');
          for (const content of contents) add.run(user, session, content, now());
        }),
      ),
    forget: async ({ user, session }) =>
      attempt(() =>
        inTransaction(db, () => {
          for (const table of ['memories', 'memory_writes'])
            db.prepare(`DELETE FROM ${table} WHERE user = ? AND session = ?`).run(user, session);
        }),
      ),
    close: async () => db.close(),
  };
}

/** The newest matching entries. Texts are compared here, because SQLite ignores letter case in ASCII only. */
function newest(rows: Iterable<MemoryEntry>, sought: string, limit: number): readonly MemoryEntry[] {
  const found: MemoryEntry[] = [];
  if (limit <= 0) return found;
  for (const { content, at } of rows) {
    if (!content.toLowerCase().includes(sought)) continue;
    found.push({ content, at });
    if (found.length === limit) break;
  }
  return found.reverse();
}

function inTransaction(db: DatabaseSync, act: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    act();
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
