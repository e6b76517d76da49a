/** Blobs in Postgres, in pieces, so that a part can be read without the whole. */
import { createHash } from 'node:crypto';
import { CairnError } from '../../errors.ts';
import type { BlobRange, BlobStore } from '../../ports/blobs.ts';
import { joinPieces, readPieces } from '../beside-runs.ts';
import { toText, type Tables } from './tables.ts';

/** Bytes of a piece. Statements take and give one at a time. */
const pieceBytes = 256 * 1024;
const pageSize = 1_000;

export function createPostgresBlobs(tables: Tables): BlobStore {
  const touch = async (tenant: string, hash: string): Promise<boolean> => {
    const found = await tables.query(
      `update S.blobs set touched_at = S.now_ms() where tenant = $1 and hash = $2 returning 1`,
      [toText(tenant), toText(hash)],
    );
    return found.length > 0;
  };
  const stream = (tenant: string, hash: string, range?: BlobRange): AsyncIterable<Uint8Array> =>
    streamBlob(tables, toText(tenant), toText(hash), range);
  return {
    name: tables.database.name,
    put: async ({ tenant }, content) => {
      const bytes = Buffer.from(content);
      const hash = createHash('sha256').update(bytes).digest('hex');
      if (await touch(tenant, hash)) return hash;
      await tables.transaction(async (query) => {
        const key = [toText(tenant), hash];
        // Whoever puts the same bytes at the same time waits here, and then has nothing more to write.
        const made = await query(
          `insert into S.blobs (tenant, hash, size, touched_at) values ($1, $2, $3, S.now_ms())
          on conflict (tenant, hash) do update set touched_at = S.now_ms() returning xmax::text = '0' as is_new`,
          [...key, bytes.length],
        );
        if ((made[0] as { readonly is_new: boolean } | undefined)?.is_new !== true) return;
        for (let no = 0; no * pieceBytes < bytes.length; no += 1)
          await query(`insert into S.blob_pieces (tenant, hash, no, body) values ($1, $2, $3, $4)`, [
            ...key,
            no,
            bytes.subarray(no * pieceBytes, (no + 1) * pieceBytes),
          ]);
      });
      return hash;
    },
    get: (tenant, hash, range) => joinPieces(stream(tenant, hash, range)),
    stream,
    has: async (tenant, hash) => {
      const found = await tables.query(`select 1 from S.blobs where tenant = $1 and hash = $2`, [
        toText(tenant),
        toText(hash),
      ]);
      return found.length > 0;
    },
    touch,
    sweep: async (tenant, { limit = pageSize, cursor = '' } = {}) => {
      const found = await tables.query<{ hash: string; age: number }>(
        `select hash, S.now_ms() - touched_at as age from S.blobs where tenant = $1 and hash > $2 order by hash limit $3`,
        [toText(tenant), toText(cursor), limit + 1],
      );
      const rows = found.slice(0, limit).map(({ hash, age }) => ({ hash, ageMs: age }));
      const last = rows.at(-1);
      return { rows, ...(last !== undefined && found.length > limit ? { cursor: last.hash } : {}) };
    },
    remove: async (tenant, hash, olderThanMs) => {
      const removed = await tables.query(
        `with gone as (
          delete from S.blobs where tenant = $1 and hash = $2 and S.now_ms() - touched_at > $3::bigint returning tenant, hash),
        pieces as (delete from S.blob_pieces p using gone where p.tenant = gone.tenant and p.hash = gone.hash)
        select 1 from gone`,
        [toText(tenant), toText(hash), olderThanMs],
      );
      return removed.length > 0;
    },
  };
}

/** @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
async function* streamBlob(tables: Tables, tenant: string, hash: string, range?: BlobRange): AsyncIterable<Uint8Array> {
  const [blob] = await tables.query<{ size: number }>(`select size from S.blobs where tenant = $1 and hash = $2`, [
    tenant,
    hash,
  ]);
  if (blob === undefined) throw new CairnError('BLOB_NOT_FOUND', { hash, store: tables.database.name });
  const readPiece = async (no: number): Promise<Uint8Array | undefined> => {
    const [piece] = await tables.query<{ body: Uint8Array }>(
      `select body from S.blob_pieces where tenant = $1 and hash = $2 and no = $3`,
      [tenant, hash, no],
    );
    return piece?.body;
  };
  yield* readPieces({ hash, sizeBytes: blob.size, pieceBytes, readPiece }, range);
}
