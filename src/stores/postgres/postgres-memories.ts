/** Memories in Postgres: a port of its own, so a file of its own, as in the other stores. */
import { readLimit, type Memories, type MemoryEntry } from '../../ports/memories.ts';
import { fromText, toText, type Tables } from './tables.ts';

/** How many entries are read at a time while matching ones are looked for. */
const pageSize = 200;

export function createPostgresMemories(tables: Tables): Memories {
  return {
    read: async ({ user, session }, { text = '', limit = readLimit } = {}) => {
      const sought = text.toLowerCase();
      const found: MemoryEntry[] = [];
      // Texts are compared here, so that letter case is that of every other store.
      for (let before = Number.MAX_SAFE_INTEGER; found.length < limit;) {
        const rows = await tables.query<{ id: number; content: string; at: number }>(
          `select id, content, at from S.memories where owner = $1 and session = $2 and id < $3 order by id desc limit ${pageSize}`,
          [toText(user), toText(session), before],
        );
        for (const row of rows) {
          const content = fromText(row.content);
          if (found.length < limit && content.toLowerCase().includes(sought)) found.push({ content, at: row.at });
        }
        if (rows.length < pageSize) break;
        before = rows.at(-1)?.id ?? 0;
      }
      return found.reverse();
    },
    write: async ({ user, session }, contents, key) => {
      await tables.query(
        `with made as (insert into S.memory_writes (owner, session, key) values ($1, $2, $3) on conflict do nothing returning 1)
        insert into S.memories (owner, session, content, at)
        select $1, $2, c.content, S.now_ms() from made, unnest($4::text[]) with ordinality as c(content, no) order by c.no`,
        [toText(user), toText(session), toText(key), contents.map(toText)],
      );
    },
    forget: async ({ user, session }) => {
      await tables.query(
        `with gone as (delete from S.memories where owner = $1 and session = $2)
        delete from S.memory_writes where owner = $1 and session = $2`,
        [toText(user), toText(session)],
      );
    },
    // They are closed with their store.
    close: () => Promise.resolve(),
  };
}
