/** Which runs name which blobs, and of which runs that may not be known. */
import type { BlobReferences } from '../../ports/blob-references.ts';
import { listOf, textOf, type RedisServer } from './server.ts';

export function createRedisReferences(server: RedisServer): BlobReferences {
  return {
    named: async (tenant, hashes) =>
      listOf((await server.call('namedBlobs', { tenant, hashes }))[0]).map((hash) => textOf(hash)),
    of: async (tenant, runIds) =>
      listOf((await server.call('referencesOf', { tenant, runIds }))[0]).map((run) => {
        const [runId, isRead, flat] = listOf(run);
        const pairs = listOf(flat);
        const named = pairs.flatMap((hash, i) =>
          i % 2 === 0 ? [{ hash: textOf(hash), times: Number(textOf(pairs[i + 1])) }] : [],
        );
        return { runId: textOf(runId), named, isRead: isRead === 1 };
      }),
    add: async ({ tenant, runId }, hashes, read) =>
      void (await server.call('addReferences', { tenant, runId, hashes: [...new Set(hashes)], read })),
    drop: async ({ tenant, runId }, named) =>
      void (await server.call('dropReferences', {
        tenant,
        runId,
        named: named.map(({ hash, times }) => [hash, times]),
      })),
    listUnread: async (tenant, { limit, cursor }) => {
      const [after, since] = cursor?.split('.') ?? [];
      const query = { tenant, limit, ...(cursor !== undefined && { after: Number(after), since }) };
      const [rows, next, walked] = await server.call('unread', query);
      return {
        rows: listOf(rows).map((id) => textOf(id)),
        ...(typeof next === 'number' && { cursor: `${next}.${textOf(walked)}` }),
      };
    },
    define: async (tenant, graphId, hashes) => void (await server.call('define', { tenant, graphId, hashes })),
    defined: async (tenant, hashes) =>
      listOf((await server.call('definedGraphs', { tenant, hashes }))[0]).map((pair) => {
        const [hash, graphId] = listOf(pair);
        return { hash: textOf(hash), graphId: textOf(graphId) };
      }),
  };
}
