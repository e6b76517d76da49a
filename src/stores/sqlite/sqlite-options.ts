/** Options of the SQLite store, validated at run time: ignoring a misspelt one could silently reduce durability (P6). */
import { CairnError } from '../../errors.ts';

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
export function checkMemoriesOptions(options: unknown): asserts options is Pick<SqliteStoreOptions, 'path' | 'now'> {
  check('openSqliteMemories', { path: checks.path, now: checks.now }, options);
}

function check(opener: string, known: Readonly<Record<string, Check>>, options: unknown): void {
  if (options !== undefined && (typeof options !== 'object' || options === null))
    throw new CairnError('CONFIG_INVALID', { path: opener, reason: "it takes options: { path: 'runs.db' }" });
  const given: Readonly<Record<string, unknown>> = { path: undefined, ...options };
  for (const [path, value] of Object.entries(given)) {
    const one = Object.hasOwn(known, path) ? known[path] : undefined;
    if (one === undefined) {
      const reason = `${opener} has no such option; it has ${Object.keys(known).join(', ')}`;
      throw new CairnError('CONFIG_INVALID', { path, reason });
    }
    const [fits, reason] = one;
    const mayBeLeftOut = path !== 'path';
    if (!(mayBeLeftOut && value === undefined) && !fits(value))
      throw new CairnError('CONFIG_INVALID', { path, reason });
  }
}
