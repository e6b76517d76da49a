/** Options of the SQLite store. One that is misspelt and passed over could make it less durable in silence (P6). */
import { CairnError } from '../../errors.ts';

export interface SqliteStoreOptions {
  /** The database file. It and its folder are created if they are not there, for the owner's eyes only. */
  readonly path: string;
  /**
   * What an acknowledged write survives. Default is `default`: a write that asks for it survives a power cut (synchronous FULL), any other
   * survives a killed process (NORMAL), and a power cut may take the newest of those. With `normal` no write is waited for and a power cut
   * may take the newest ones of all kinds; with `full` every write survives it. The file stays whole in each case.
   */
  readonly durability?: 'default' | 'normal' | 'full';
  /** Opens a store that exists, in about a millisecond; writes are STORE_READ_ONLY. Default is `false`. */
  readonly readOnly?: boolean;
  /** How long a write waits for another process before it is STORE_BUSY. Default is 5000. */
  readonly busyTimeoutMs?: number;
  /** Pages in the log at which a commit copies them into the database, as it does after 1.5 MiB of rows; 0: never. Default is 256, which is 4 MiB. */
  readonly walAutoCheckpointPages?: number;
  /**
   * Names the data to the outside: idempotency keys derive from it, so give a copy that lives on its own, such as one for staging, another.
   * It is written into the file. Default is the one the file has: a random one from when it was made, which a copied file keeps.
   */
  readonly identity?: string;
  /** Epoch ms; leases are measured with it, so it must be the same for every process that opens the file. Default is the system's clock. */
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

/** @throws CONFIG_INVALID an option that is none, or is not what it must be */
export function checkOptions(options: unknown): asserts options is SqliteStoreOptions {
  if (options !== undefined && (typeof options !== 'object' || options === null))
    throw new CairnError('CONFIG_INVALID', {
      path: 'openSqliteStore',
      reason: "it takes options: { path: 'runs.db' }",
    });
  const given: Readonly<Record<string, unknown>> = { path: undefined, ...options };
  for (const [path, value] of Object.entries(given)) {
    const check = Object.hasOwn(checks, path) ? checks[path as keyof SqliteStoreOptions] : undefined;
    if (check === undefined) {
      const reason = `the store has no such option; it has ${Object.keys(checks).join(', ')}`;
      throw new CairnError('CONFIG_INVALID', { path, reason });
    }
    const [fits, reason] = check;
    const mayBeLeftOut = path !== 'path';
    if (!(mayBeLeftOut && value === undefined) && !fits(value))
      throw new CairnError('CONFIG_INVALID', { path, reason });
  }
}
