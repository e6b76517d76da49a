/** Memories in a SQLite file of their own, which several processes may share. */
import { CairnError } from '../../errors.ts';
import type { DatabaseSync } from 'node:sqlite';
import { readLimit, type Memories, type MemoryEntry } from '../../ports/memories.ts';
import { createFile, loadDriver } from './file/open-database.ts';
import { useWriteAheadLog } from './tables/schema.ts';
import { mapSqliteError } from './sqlite-errors.ts';

// Options of the SQLite store, validated at run time: ignoring a misspelt one could silently reduce durability (P6).

export interface SqliteStoreOptions {
  /** Path of the database file. It and its folder are created if they do not exist, readable by their owner only. */
  readonly path: string;
  /**
   * What an acknowledged write survives; the file stays intact in each case.
   * - `default`: a write survives a power cut if it asks for that (synchronous FULL). Any other survives a killed process (NORMAL), and the
   *   newest of those may be lost in a power cut.
   * - `normal`: no write waits for the disk, and a power cut may lose the newest writes of all kinds.
   * - `full`: every write survives a power cut.
   */
  readonly durability?: 'default' | 'normal' | 'full';
  /** Opens an existing store, in about a millisecond; writes fail with STORE_READ_ONLY. Default false. */
  readonly readOnly?: boolean;
  /** How long a write waits for another process before it fails with STORE_BUSY, in milliseconds. Default 5000. */
  readonly busyTimeoutMs?: number;
  /**
   * Number of pages in the log at which a commit copies them into the database; it also does so after 1.5 MiB of rows. 0: never. Default
   * 256, which is 4 MiB.
   */
  readonly walAutoCheckpointPages?: number;
  /**
   * Identity of the data, from which idempotency keys are derived. Give a copy that is used independently, such as one for staging, another
   * identity. It is written to the file. Default: the file's own, a random one from when it was created, which copies of the file keep.
   */
  readonly identity?: string;
  /**
   * Returns the time in epoch ms. Leases are measured with it, so it must be the same for every process that opens the file. Default: the
   * system clock.
   */
  readonly now?: () => number;
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

type Check = readonly [fits: (value: unknown) => boolean, reason: string];

const checks: Readonly<Record<keyof SqliteStoreOptions, Check>> = {
  path: [(value) => typeof value === 'string' && value !== '', 'a store needs the path of a database'],
  durability: [
    (value) => value === 'default' || value === 'normal' || value === 'full',
    'it must be default, normal or full',
  ],
  readOnly: [(value) => typeof value === 'boolean', 'it must be true or false'],
  busyTimeoutMs: [isCount, 'it must be a whole number, 0 or more'],
  walAutoCheckpointPages: [isCount, 'it must be a whole number, 0 or more'],
  identity: [(value) => typeof value === 'string' && value !== '', 'it must be a text that is not empty'],
  now: [(value) => typeof value === 'function', 'it must be a function'],
};

/** Validates the options of a store. @throws CONFIG_INVALID an unknown or invalid option */
export function checkOptions(options: unknown): asserts options is SqliteStoreOptions {
  check('openSqliteStore', checks, options);
}

/** Validates the options of memories. @throws CONFIG_INVALID an unknown or invalid option */
function checkMemoriesOptions(options: unknown): asserts options is Pick<SqliteStoreOptions, 'path' | 'now'> {
  check('openSqliteMemories', { path: checks.path, now: checks.now }, options);
}

function check(opener: string, known: Readonly<Record<string, Check>>, options: unknown): void {
  if (options !== undefined && (typeof options !== 'object' || options === null))
    throw new CairnError('CONFIG_INVALID', { path: opener, reason: "it takes options: { path: 'runs.db' }" });
  const values: Readonly<Record<string, unknown>> = { path: undefined, ...options };
  for (const [path, value] of Object.entries(values)) {
    const one = Object.hasOwn(known, path) ? known[path] : undefined;
    if (one === undefined) {
      const reason = `${opener} has no such option; it has ${Object.keys(known).join(', ')}`;
      throw new CairnError('CONFIG_INVALID', { path, reason });
    }
    const [fits, reason] = one;
    const isOptional = path !== 'path';
    if (!(isOptional && value === undefined) && !fits(value)) throw new CairnError('CONFIG_INVALID', { path, reason });
  }
}

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
    opened.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = FULL;');
    useWriteAheadLog(opened);
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
