/** The blobs of a backup, stored inside its file in pieces, because a blob may be larger than SQLite's largest value. */
import type { DatabaseSync } from 'node:sqlite';
import { CairnError } from '../../../errors.ts';
import type { BlobStore } from '../../../ports/blobs.ts';
import { mapSqliteError } from '../sqlite-errors.ts';

const pieceBytes = 4 * 1024 * 1024;

/** The blobs of a backup, readable through the blob port. */
export interface BackupBlobs extends BlobStore {
  /** Lists all of them. */
  readonly rows: () => readonly { readonly tenant: string; readonly hash: string }[];
  /** Adds a blob that is not there yet, piece by piece: all of it, or nothing. */
  readonly add: (tenant: string, hash: string, pieces: AsyncIterable<Uint8Array>) => Promise<void>;
}

export const blobTable =
  'create table if not exists backup_blobs (tenant text not null, hash text not null, no integer not null, body blob not null, primary key (tenant, hash, no))';

export function openBackupBlobs(db: DatabaseSync, name: string): BackupBlobs {
  const one = db.prepare('select body from backup_blobs where tenant = ? and hash = ? and no = ?');
  const all = db.prepare('select distinct tenant, hash from backup_blobs order by tenant, hash');
  const insert = db.prepare('insert into backup_blobs (tenant, hash, no, body) values (?, ?, ?, ?)');
  const pieceOf = (tenant: string, hash: string, no: number): Uint8Array | undefined =>
    one.get(tenant, hash, no)?.['body'] as Uint8Array | undefined;
  const add = async (tenant: string, hash: string, pieces: AsyncIterable<Uint8Array>): Promise<void> => {
    let no = 0;
    try {
      db.exec('begin');
      for await (const piece of pieces) {
        for (let from = 0; from < piece.length; from += pieceBytes) {
          insert.run(tenant, hash, no, piece.subarray(from, from + pieceBytes));
          no += 1;
        }
      }
      if (no === 0) insert.run(tenant, hash, 0, new Uint8Array());
      db.exec('commit');
    } catch (error) {
      if (db.isTransaction) db.exec('rollback');
      throw CairnError.is(error) ? error : mapSqliteError(error, name);
    }
  };
  async function* stream(tenant: string, hash: string): AsyncGenerator<Uint8Array> {
    for (let no = 0; ; no += 1) {
      const piece = pieceOf(tenant, hash, no);
      if (piece === undefined && no === 0) throw new CairnError('BLOB_NOT_FOUND', { hash });
      if (piece === undefined) return;
      yield piece;
    }
  }
  return {
    name,
    rows: () => all.all() as unknown as { readonly tenant: string; readonly hash: string }[],
    add,
    has: (tenant, hash) => Promise.resolve(pieceOf(tenant, hash, 0) !== undefined),
    touch: (tenant, hash) => Promise.resolve(pieceOf(tenant, hash, 0) !== undefined),
    put: () => Promise.reject(new CairnError('STORE_READ_ONLY', { store: name })),
    sweep: () => Promise.resolve({ rows: [] }),
    remove: () => Promise.resolve(false),
    stream,
    get: async (tenant, hash) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of stream(tenant, hash)) pieces.push(piece);
      return Buffer.concat(pieces);
    },
  };
}
