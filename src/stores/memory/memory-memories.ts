/** Memories that live in this process only, for tests. */
import { readLimit, type Memories, type MemoryEntry, type MemoryOwner } from '../../ports/memories.ts';

interface StoredMemory {
  readonly keys: Set<string>;
  readonly entries: MemoryEntry[];
}

/** @param now - returns the time in epoch ms */
export function createMemoryMemories(now: () => number = Date.now): Memories {
  const owners = new Map<string, StoredMemory>();
  const storedOf = ({ user, session }: MemoryOwner): StoredMemory => {
    const name = JSON.stringify([user, session]);
    const saved = owners.get(name) ?? { keys: new Set(), entries: [] };
    owners.set(name, saved);
    return saved;
  };
  return {
    read: async (owner, { text = '', limit = readLimit } = {}) => {
      const sought = text.toLowerCase();
      const found = storedOf(owner).entries.filter(({ content }) => content.toLowerCase().includes(sought));
      return limit > 0 ? found.slice(-limit) : [];
    },
    write: async (owner, contents, key) => {
      const { keys, entries } = storedOf(owner);
      if (keys.has(key)) return;
      keys.add(key);
      entries.push(...contents.map((content) => ({ content, at: now() })));
    },
    forget: async ({ user, session }) => void owners.delete(JSON.stringify([user, session])),
    close: async () => {},
  };
}
