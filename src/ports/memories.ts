/** The memory port: what is remembered of a user over sessions, outside of any run. */

/** Whose memory it is. Nobody sees that of another user, or of another session. */
export interface MemoryOwner {
  readonly user: string;
  readonly session: string;
}

export interface MemoryEntry {
  readonly content: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Every method may throw STORE_UNAVAILABLE. */
export interface Memories {
  /** The newest entries, oldest of them first. @param query.text - only those that hold it, letter case aside @param query.limit - default 20 */
  read(
    owner: MemoryOwner,
    query?: { readonly text?: string; readonly limit?: number },
  ): Promise<readonly MemoryEntry[]>;
  /**
   * Adds entries, all or none; durable when it resolves. A second write under the same key changes nothing, whatever it holds.
   * @param key - of the write, within its owner
   */
  write(owner: MemoryOwner, contents: readonly string[], key: string): Promise<void>;
  /** Removes all entries of an owner. */
  forget(owner: MemoryOwner): Promise<void>;
  close(): Promise<void>;
}

/** Entries that a read gives where nothing is said. */
export const readLimit = 20;
