/** What is kept beside the runs of a Redis store: blobs, memories, and pieces of what nodes are just making. */
import { createHash } from 'node:crypto';
import { CairnError } from '../../errors.ts';
import type { BlobRange, BlobStore } from '../../ports/blobs.ts';
import type { LiveFeed } from '../../ports/live-feed.ts';
import { readLimit, type Memories, type MemoryEntry } from '../../ports/memories.ts';
import { bounded, listOf, textOf, type RedisServer } from './server.ts';

/** Bytes of a piece of a blob, so that a part can be read without the whole, and no call is long. */
const pieceBytes = 512 * 1024;

export function createRedisBlobs(server: RedisServer): BlobStore {
  const touch = async (tenant: string, hash: string): Promise<boolean> =>
    (await server.call('touch', { tenant, hash }))[0] === 1;
  async function* stream(tenant: string, hash: string, range: BlobRange = {}): AsyncIterable<Uint8Array> {
    const [size] = await server.call('blob', { tenant, hash });
    if (typeof size !== 'number') throw new CairnError('BLOB_NOT_FOUND', { hash });
    const from = Math.min(range.offset ?? 0, size);
    const to = Math.min(from + (range.length ?? size), size);
    const sum = from === 0 && to === size ? createHash('sha256') : undefined;
    for (let no = Math.floor(from / pieceBytes); no * pieceBytes < to; no += 1) {
      const [piece] = await server.call('piece', { tenant, hash, no });
      if (!Buffer.isBuffer(piece)) throw new CairnError('BLOB_CORRUPT', { hash });
      sum?.update(piece);
      const start = no * pieceBytes;
      yield new Uint8Array(piece.subarray(Math.max(0, from - start), to - start));
    }
    if (sum !== undefined && sum.digest('hex') !== hash) throw new CairnError('BLOB_CORRUPT', { hash });
  }
  return {
    name: server.name,
    put: async ({ tenant }, given) => {
      const bytes = Buffer.from(given);
      const hash = createHash('sha256').update(bytes).digest('hex');
      if (await touch(tenant, hash)) return hash;
      const pieces = Math.ceil(bytes.length / pieceBytes);
      // Ends: only a removal of the same bytes between two calls makes another round.
      for (;;) {
        for (let no = 0; no < pieces; no += 1)
          await server.call('blobPiece', { tenant, hash, no }, [
            bytes.subarray(no * pieceBytes, (no + 1) * pieceBytes),
          ]);
        const [isWhole] = await server.call('blobEnd', { tenant, hash, pieces, size: bytes.length });
        if (isWhole === 1) return hash;
      }
    },
    get: async (tenant, hash, range) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of stream(tenant, hash, range)) pieces.push(piece);
      return new Uint8Array(Buffer.concat(pieces));
    },
    stream,
    has: async (tenant, hash) => typeof (await server.call('blob', { tenant, hash }))[0] === 'number',
    touch,
    sweep: async (tenant, { limit = 1_000, cursor = '' } = {}) => {
      const [found] = await server.call('sweep', { tenant, cursor, limit: limit + 1 });
      const all = listOf(found).map((row) => ({ hash: textOf(listOf(row)[0]), ageMs: Number(listOf(row)[1]) }));
      const rows = all.slice(0, limit);
      const last = rows.at(-1);
      return { rows, ...(last !== undefined && all.length > limit ? { cursor: last.hash } : {}) };
    },
    remove: async (tenant, hash, olderThanMs) =>
      (await server.call('blobRemove', { tenant, hash, olderThanMs: bounded(olderThanMs) }))[0] === 1,
  };
}

/** How many entries are read at a time while matching ones are looked for. */
const memoryPage = 200;

export function createRedisMemories(server: RedisServer): Memories {
  return {
    read: async ({ user, session }, { text = '', limit = readLimit } = {}) => {
      const sought = text.toLowerCase();
      const found: MemoryEntry[] = [];
      for (let skip = 0; found.length < limit; skip += memoryPage) {
        const page = listOf((await server.call('memories', { user, session, skip, limit: memoryPage }))[0]);
        for (const entry of page.toReversed()) {
          const [, at, content = ''] = /^(\d+):(.*)$/su.exec(textOf(entry)) ?? [];
          if (found.length < limit && content.toLowerCase().includes(sought)) found.push({ content, at: Number(at) });
        }
        if (page.length < memoryPage) break;
      }
      return found.reverse();
    },
    write: async ({ user, session }, contents, key) =>
      void (await server.call('remember', { user, session, contents, key })),
    forget: async ({ user, session }) => void (await server.call('forget', { user, session })),
    // They are closed with their store.
    close: () => Promise.resolve(),
  };
}

export function createRedisLiveFeed(server: RedisServer): LiveFeed {
  return {
    pollMs: 100,
    write: async ({ tenant, runId }, { remove = [], add = [] }) => {
      const pieces = add.map(({ n, node, detail }) => [n, JSON.stringify([node, detail])]);
      const all = remove === 'all';
      await server.call('live', { tenant, runId, all, remove: all ? [] : remove, add: pieces });
    },
    read: async ({ tenant, runId }, after) => {
      const flat = listOf((await server.call('lives', { tenant, runId }))[0]);
      return flat
        .flatMap((n, i) => (i % 2 === 0 && Number(n) > after ? [{ n: Number(n), text: textOf(flat[i + 1]) }] : []))
        .sort((a, b) => a.n - b.n)
        .map(({ n, text }) => {
          const [node, detail] = JSON.parse(text) as [readonly string[], unknown];
          return { n, node, detail };
        });
    },
  };
}
