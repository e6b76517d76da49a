/** What is stored beside the runs of a Redis store: blobs, memories, and pieces of what nodes are just making. */
import { createHash } from 'node:crypto';
import { CairnError } from '../../errors.ts';
import type { BlobRange, BlobStore } from '../../ports/blobs.ts';
import type { LiveFeed } from '../../ports/live-feed.ts';
import type { Memories, MemoryEntry, MemoryOwner } from '../../ports/memories.ts';
import { findNewest, joinPieces, readPieces } from '../beside-runs.ts';
import { bounded, listOf, textOf, type RedisServer } from './server.ts';

/** Bytes of a piece of a blob, so that a part can be read without the whole, and no call is long. */
const pieceBytes = 512 * 1024;

export function createRedisBlobs(server: RedisServer): BlobStore {
  const touch = async (tenant: string, hash: string): Promise<boolean> =>
    (await server.call('touch', { tenant, hash }))[0] === 1;
  async function* stream(tenant: string, hash: string, range?: BlobRange): AsyncIterable<Uint8Array> {
    const [size] = await server.call('blob', { tenant, hash });
    if (typeof size !== 'number') throw new CairnError('BLOB_NOT_FOUND', { hash, store: server.name });
    const readPiece = async (no: number): Promise<Uint8Array | undefined> => {
      const [piece] = await server.call('piece', { tenant, hash, no });
      return Buffer.isBuffer(piece) ? piece : undefined;
    };
    yield* readPieces({ hash, sizeBytes: size, pieceBytes, readPiece }, range);
  }
  return {
    name: server.name,
    put: async ({ tenant }, content) => {
      const bytes = Buffer.from(content);
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
    get: (tenant, hash, range) => joinPieces(stream(tenant, hash, range)),
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
  async function* newestFirst({ user, session }: MemoryOwner): AsyncIterable<readonly MemoryEntry[]> {
    for (let skip = 0; ; skip += memoryPage) {
      const page = listOf((await server.call('memories', { user, session, skip, limit: memoryPage }))[0]);
      yield page.toReversed().map((entry) => {
        const [, at, content = ''] = /^(\d+):(.*)$/su.exec(textOf(entry)) ?? [];
        return { content, at: Number(at) };
      });
      if (page.length < memoryPage) return;
    }
  }
  return {
    read: (owner, query) => findNewest(newestFirst(owner), query),
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
