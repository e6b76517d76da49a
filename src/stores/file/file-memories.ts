/** Memories in a folder: a journal of JSON lines for each owner. The store in the same folder has the lock. */
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CairnError } from '../../errors.ts';
import { readLimit, type Memories, type MemoryEntry, type MemoryOwner } from '../../ports/memories.ts';
import { append, cutTorn, emptyEnd, readJournal, syncFolder, withErrors, type JournalEnd } from './journal.ts';
import { fileNameOf } from './file-names.ts';

/** The memories of one owner. */
interface Owned {
  readonly path: string;
  readonly keys: Set<string>;
  readonly entries: MemoryEntry[];
  end: JournalEnd;
}

/** @param path - the folder. @param now - returns the time in epoch ms */
export function openFileMemories(path: string, now: () => number = Date.now): Memories {
  const store = `file:${path}`;
  const owners = new Map<string, Owned>();
  let isClosed = false;
  const ownedBy = ({ user, session }: MemoryOwner): Owned => {
    if (isClosed) throw new CairnError('STORE_CLOSED', { store });
    const name = `${fileNameOf(user)}/${fileNameOf(session)}.jsonl`;
    const known = owners.get(name);
    if (known !== undefined) return known;
    const owned = read(join(path, 'memories', name), name, store);
    owners.set(name, owned);
    return owned;
  };
  return {
    read: async (owner, { text = '', limit = readLimit } = {}) => {
      const sought = text.toLowerCase();
      const found = ownedBy(owner).entries.filter(({ content }) => content.toLowerCase().includes(sought));
      return limit > 0 ? found.slice(-limit) : [];
    },
    write: async (owner, contents, key) => {
      const owned = ownedBy(owner);
      if (owned.keys.has(key)) return;
      const line = { key, at: now(), contents };
      owned.end = append(owned.path, line, owned.end, true, store);
      take(owned, line);
    },
    forget: async (owner) => {
      const { path: file, end } = ownedBy(owner);
      owners.clear();
      if (end.sizeBytes === 0) return;
      withErrors(store, () => {
        rmSync(file, { force: true });
        syncFolder(dirname(file));
      });
    },
    close: async () => void (isClosed = true),
  };
}

interface MemoryLine {
  readonly key: string;
  readonly at: number;
  readonly contents: readonly string[];
}

function take({ keys, entries }: Owned, { key, at, contents }: MemoryLine): void {
  keys.add(key);
  entries.push(...contents.map((content) => ({ content, at })));
}

/** @throws STORE_CORRUPT */
function read(path: string, name: string, store: string): Owned {
  const owned: Owned = { path, keys: new Set(), entries: [], end: emptyEnd(name) };
  if (!existsSync(path)) return owned;
  const { entries, end, damage, tornBytes } = readJournal(path, name, store);
  if (damage !== undefined) throw new CairnError('STORE_CORRUPT', { store, reason: damage });
  if (tornBytes > 0) cutTorn(path, end, store);
  owned.end = end;
  for (const entry of entries) take(owned, entry as unknown as MemoryLine);
  return owned;
}
