/** Blobs as files named by their hash, in a folder for each tenant. */

import type * as FileCalls from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { CairnError, type ErrorCode } from '../errors.ts';
import type { BlobStore } from '../ports/blobs.ts';
import { hashBlob, isBlobHash } from './blob-hash.ts';

/** Loaded when first needed: programs that never use it start sooner. */
const files = (): Promise<typeof FileCalls> => Promise.resolve(process.getBuiltinModule('node:fs/promises'));

/** A half-written file that is older than this was left by a process that died. */
const abandonedMs = 24 * 3_600_000;

/**
 * Creates a blob store in a folder.
 *
 * A blob is written beside its place, synced, and renamed, so a file of its name is whole; the folder is synced before the call resolves.
 *
 * @param folder - created when the first blob is put, for the owner's eyes only
 * @param now - epoch ms; ages are measured with it and is written to the files. Default is the system's clock.
 */
export function createFileBlobs(folder: string, now: () => number = Date.now): BlobStore {
  const root = resolve(folder);
  const name = `file:${root}`;
  const folderOf = (tenant: string): string => join(root, tenantFolder(tenant));
  const pathOf = (tenant: string, hash: string): string => join(folderOf(tenant), hash.slice(0, 2), hash);
  return {
    name,
    put: async (tenant, bytes) => {
      const hash = hashBlob(bytes);
      const path = pathOf(tenant, hash);
      try {
        if (!(await isStored(path, bytes.length, now()))) await writeDurably(path, bytes, now());
      } catch (error) {
        throw mapFileError(error, name);
      }
      return hash;
    },
    get: async (tenant, hash) => {
      const bytes = isBlobHash(hash) ? await readIfThere(pathOf(tenant, hash), name) : undefined;
      if (bytes === undefined) throw new CairnError('BLOB_NOT_FOUND', { hash });
      if (hashBlob(bytes) !== hash) throw new CairnError('BLOB_CORRUPT', { hash });
      return bytes;
    },
    has: async (tenant, hash) => {
      if (!isBlobHash(hash)) return false;
      try {
        return (await (await files()).stat(pathOf(tenant, hash))).isFile();
      } catch (error) {
        if (isMissing(error)) return false;
        throw mapFileError(error, name);
      }
    },
    touch: async (tenant, hash) => {
      if (!isBlobHash(hash)) return false;
      try {
        await (await files()).utimes(pathOf(tenant, hash), now() / 1000, now() / 1000);
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        throw mapFileError(error, name);
      }
    },
    collect: async (tenant, keep, olderThanMs) => {
      try {
        return await collectFolder(folderOf(tenant), keep, now() - olderThanMs, now() - abandonedMs);
      } catch (error) {
        throw mapFileError(error, name);
      }
    },
  };
}

/** A plain name stands for itself; any other, in whatever letters, for its hash, which no plain name is. */
function tenantFolder(tenant: string): string {
  return /^[a-z0-9][a-z0-9_-]{0,62}$/.test(tenant) ? tenant : `~${hashBlob(new TextEncoder().encode(tenant))}`;
}

/** Whether the blob is there in full. If so its age begins anew, so that a collector spares it for who put it just now. */
async function isStored(path: string, sizeBytes: number, nowMs: number): Promise<boolean> {
  try {
    if ((await (await files()).stat(path)).size !== sizeBytes) return false;
    await (await files()).utimes(path, nowMs / 1000, nowMs / 1000);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Tells the half-written files of this process apart. */
let parts = 0;

async function writeDurably(path: string, bytes: Uint8Array, nowMs: number): Promise<void> {
  const folder = dirname(path);
  await (await files()).mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}-${(parts += 1)}-${Date.now()}.part`;
  try {
    const file = await (await files()).open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.utimes(nowMs / 1000, nowMs / 1000);
      await file.sync();
    } finally {
      await file.close();
    }
    await (await files()).rename(temporary, path);
  } catch (error) {
    await (await files()).rm(temporary, { force: true });
    throw error;
  }
  // The names must survive too: of the file in its folder, and of a folder that was new in the one above.
  for (const place of [folder, dirname(folder), dirname(dirname(folder))]) await syncFolder(place);
}

async function syncFolder(path: string): Promise<void> {
  let folder: FileCalls.FileHandle | undefined;
  try {
    folder = await (await files()).open(path, 'r');
    await folder.sync();
  } catch (error) {
    // Some systems cannot open or sync a folder; there the name is as durable as the system makes it.
    if (!['EISDIR', 'EINVAL', 'EPERM', 'EACCES', 'ENOTSUP'].includes(codeOf(error))) throw error;
  } finally {
    await folder?.close();
  }
}

async function readIfThere(path: string, store: string): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await (await files()).readFile(path));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw mapFileError(error, store);
  }
}

async function collectFolder(
  folder: string,
  keep: ReadonlySet<string>,
  blobsBefore: number,
  partsBefore: number,
): Promise<number> {
  let removed = 0;
  for (const group of await listFolder(folder)) {
    for (const file of await listFolder(join(folder, group))) {
      const isBlob = isBlobHash(file);
      if (isBlob ? keep.has(file) : !file.endsWith('.part')) continue;
      const path = join(folder, group, file);
      const { mtimeMs } = await (await files()).stat(path);
      if (mtimeMs >= (isBlob ? blobsBefore : partsBefore)) continue;
      await (await files()).rm(path, { force: true });
      if (isBlob) removed += 1;
    }
  }
  return removed;
}

async function listFolder(path: string): Promise<string[]> {
  try {
    return await (await files()).readdir(path);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';
}

const codes: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'STORE_FULL',
  EDQUOT: 'STORE_FULL',
  EROFS: 'STORE_READ_ONLY',
  EACCES: 'STORE_READ_ONLY',
  EPERM: 'STORE_READ_ONLY',
};

function mapFileError(error: unknown, store: string): CairnError {
  const reason = error instanceof Error ? error.message : String(error);
  return new CairnError(codes[codeOf(error)] ?? 'STORE_UNAVAILABLE', { store, reason }, { cause: error });
}
