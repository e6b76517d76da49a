/** The memory port: entries about a user that last from session to session, outside of any run. */

/** Owner of a memory. Entries of other users and of other sessions are never visible. */
export interface MemoryOwner {
  readonly user: string;
  readonly session: string;
}

export interface MemoryEntry {
  readonly content: string;
  /** When it was written, in epoch ms. */
  readonly at: number;
}

/** Stores entries by owner. Every method may throw STORE_UNAVAILABLE. */
export interface Memories {
  /**
   * The newest entries, in order from oldest to newest.
   * @param query.text - only entries that contain this text, in any letter case
   * @param query.limit - the most entries; default 20
   */
  read(
    owner: MemoryOwner,
    query?: { readonly text?: string; readonly limit?: number },
  ): Promise<readonly MemoryEntry[]>;
  /**
   * Adds entries, all or none; they are durable when the promise resolves. A second write with the same key has no effect, whatever it
   * contains.
   * @param key - identifies the write, within its owner
   */
  write(owner: MemoryOwner, contents: readonly string[], key: string): Promise<void>;
  /** Removes all entries of an owner. */
  forget(owner: MemoryOwner): Promise<void>;
  close(): Promise<void>;
}

/** Number of entries that a read returns by default. */
export const readLimit = 20;
