/** The store in memory, for tests, trials, and runs that need not outlive the process. */
import { CairnError } from '../../errors.ts';
import type { Store } from '../../ports/store.ts';
import { HostClock } from '../host-clock.ts';
import { MemoryTables } from '../run-tables.ts';
import { createTablesStore } from '../tables-store.ts';

export interface MemoryStoreOptions {
  /** Name for messages. Default `memory:`. */
  readonly name?: string;
  /** See {@link Store.readIdentity}. Default: none, because data in memory cannot be copied. */
  readonly identity?: string;
  /** Returns the time in epoch ms; leases are measured with it. Default: the system clock. */
  readonly now?: () => number;
}

/** Validates the options at run time, because plain JavaScript has no type checker. @throws CONFIG_INVALID */
function checkOptions(options: unknown): void {
  const refuse = (path: string, reason: string): never => {
    throw new CairnError('CONFIG_INVALID', { path, reason });
  };
  if (typeof options !== 'object' || options === null) return refuse('', 'a store takes its options as an object');
  const { name, identity, now, ...others }: { name?: unknown; identity?: unknown; now?: unknown } = options;
  if (name !== undefined && typeof name !== 'string') refuse('name', 'it must be text');
  if (identity !== undefined && typeof identity !== 'string') refuse('identity', 'it must be text');
  if (now !== undefined && typeof now !== 'function') refuse('now', 'it must be a function');
  for (const other of Object.keys(others)) refuse(other, 'the store has no such option; it has name, identity, now');
}

/**
 * Makes a store in memory with the semantics of every other store, full isolation included. Nothing survives the process.
 *
 * @throws CONFIG_INVALID an unknown or invalid option
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions(options);
  const { now, name = 'memory:', identity = '' } = options;
  return createTablesStore(new MemoryTables(new HostClock(now), name, identity), {
    durability: 'none',
    isShared: false,
  });
}
