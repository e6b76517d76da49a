/** Stores blobs as files named by their hash, in one folder for each tenant. Large blobs are compressed if that makes them smaller. */
import type * as FileCalls from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { BlobRow, BlobRange, BlobStore } from '../ports/blobs.ts';
import type { Page } from '../ports/store.ts';
import { isBlobHash, hashBlob, cutRange, tenantFolder } from './blob-hash.ts';
import { CairnError, fileFault } from '../errors.ts';
import { unpackedBytesMax } from '../state/values/packed-size.ts';

// File operations of the blob store. A file is complete and durable before it has its name.

/** Loaded on first use, so that programs that never need it start faster. */
const files = (): Promise<typeof FileCalls> => import('node:fs/promises');

/** Counter that tells this process's partial files apart. */
let parts = 0;

/** Writes a temporary file, syncs it, renames it, and syncs the folders. So a file with this name is always complete. */
async function writeDurably(path: string, bytes: Uint8Array, nowMs: number): Promise<void> {
  const { mkdir, open, rename, rm } = await files();
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}-${(parts += 1)}-${Date.now()}.part`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.utimes(nowMs / 1000, nowMs / 1000);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  // The names must be durable too: that of the file, and that of a new folder in its parent.
  for (const place of [folder, dirname(folder), dirname(dirname(folder))]) await syncFolder(place);
}

async function syncFolder(path: string): Promise<void> {
  let folder: FileCalls.FileHandle | undefined;
  try {
    folder = await (await files()).open(path, 'r');
    await folder.sync();
  } catch (error) {
    // Some systems cannot open or sync a folder. There, names are as durable as the system makes them.
    if (!['EISDIR', 'EINVAL', 'EPERM', 'EACCES', 'ENOTSUP'].includes(fileCode(error))) throw error;
  } finally {
    await folder?.close();
  }
}

/**
 * Whether there is a file of this size (of any size by default). If so, its age is reset, so that a clean-up spares it for whoever
 * has just put it.
 */
async function makeYoung(path: string, sizeBytes: number | undefined, nowMs: number): Promise<boolean> {
  const { stat, utimes } = await files();
  try {
    if (sizeBytes !== undefined && (await stat(path)).size !== sizeBytes) return false;
    await utimes(path, nowMs / 1000, nowMs / 1000);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** When a file was put or touched last, in epoch ms; undefined if it does not exist. */
async function youngAt(path: string): Promise<number | undefined> {
  try {
    return (await (await files()).stat(path)).mtimeMs;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Suffix of a file that is being removed. */
const goneSuffix = '.gone';

/**
 * Removes a file unless it was put or touched since `before`. The file is first renamed and then checked again. Whoever puts the same bytes
 * meanwhile either finds no file and writes a new one, or has touched it, and then it is renamed back.
 */
async function removeOld(path: string, before: number): Promise<boolean> {
  const { rename, rm } = await files();
  const at = await youngAt(path);
  if (at === undefined || at >= before) return false;
  const aside = path + goneSuffix;
  await rename(path, aside);
  const seen = await youngAt(aside);
  if (seen !== undefined && seen >= before) {
    await rename(aside, path);
    return false;
  }
  await rm(aside, { force: true });
  return true;
}

/** The sorted names in a folder; empty if it does not exist. */
async function listFolder(path: string): Promise<string[]> {
  try {
    return (await (await files()).readdir(path)).sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** The code of a file system error. */
function fileCode(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

function isMissing(error: unknown): boolean {
  return fileCode(error) === 'ENOENT' || fileCode(error) === 'ENOTDIR';
}

// Lists the blobs in a tenant's folder page by page, and removes what dead processes did not finish.

const pageSize = 1_000;

/** A partial file older than this is of a process that died. */
const abandonedMs = 24 * 3_600_000;

/** @param suffix - suffix of compressed files */
async function sweepFolder(
  folder: string,
  suffix: string,
  nowMs: number,
  { limit = pageSize, cursor = '' }: { readonly limit?: number; readonly cursor?: string },
): Promise<Page<BlobRow>> {
  const rows: BlobRow[] = [];
  for (const group of await listFolder(folder)) {
    if (group < cursor.slice(0, 2)) continue;
    for (const file of await listFolder(join(folder, group))) {
      const hash = file.endsWith(suffix) ? file.slice(0, -suffix.length) : file;
      const path = join(folder, group, file);
      if (!isBlobHash(hash)) await tidy(path, nowMs - abandonedMs);
      else if (hash > cursor && hash !== rows.at(-1)?.hash) {
        const at = await youngAt(path);
        if (at === undefined) continue;
        const last = rows.at(-1);
        if (last !== undefined && rows.length >= limit) return { rows, cursor: last.hash };
        rows.push({ hash, ageMs: nowMs - at });
      }
    }
  }
  return { rows };
}

/** Removes a partial file if it is old. A file whose removal was interrupted gets its name back. */
async function tidy(path: string, before: number): Promise<void> {
  const { rename, rm } = await files();
  const at = await youngAt(path);
  if (at === undefined || at >= before) return;
  try {
    if (path.endsWith('.part')) await rm(path, { force: true });
    else if (path.endsWith(goneSuffix)) await rename(path, path.slice(0, -goneSuffix.length));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Blobs of at least this size are compressed. Smaller files take a block of the disk anyway. */
const compressedFromBytes = 16 * 1024;
/** Compressed bytes are stored only if they are smaller than this share of the original. */
const worthRatio = 0.9;
const compressedSuffix = '.zst';

/**
 * Makes a blob store in a folder.
 *
 * @param folder - created with the first blob, readable by its owner only
 * @param now - returns the time in epoch ms. Ages are measured with it, and it is written to the files. Default: the system clock
 */
export function createFileBlobs(folder: string, now: () => number = Date.now): BlobStore {
  return new FileBlobs(resolve(folder), now);
}

class FileBlobs implements BlobStore {
  readonly name: string;
  readonly #root: string;
  readonly #now: () => number;

  constructor(root: string, now: () => number) {
    this.name = `file:${root}`;
    this.#root = root;
    this.#now = now;
  }

  #folderOf(tenant: string): string {
    return join(this.#root, tenantFolder(tenant));
  }

  /** Path of an uncompressed blob. @throws BLOB_NOT_FOUND the text is not a hash */
  #pathOf(tenant: string, hash: string): string {
    if (!isBlobHash(hash)) throw new CairnError('BLOB_NOT_FOUND', { hash, store: this.name });
    return join(this.#folderOf(tenant), hash.slice(0, 2), hash);
  }

  put({ tenant }: { readonly tenant: string }, bytes: Uint8Array): Promise<string> {
    const copy = new Uint8Array(bytes);
    return this.#do(async () => {
      const hash = hashBlob(copy);
      const path = this.#pathOf(tenant, hash);
      if (await makeYoung(path, copy.length, this.#now())) return hash;
      const compressed = await compress(copy);
      if (compressed === undefined) await writeDurably(path, copy, this.#now());
      else if (!(await makeYoung(path + compressedSuffix, compressed.length, this.#now()))) {
        await writeDurably(path + compressedSuffix, compressed, this.#now());
        // An uncompressed file that was cut short would be found first, so it is removed.
        await (await files()).rm(path, { force: true });
      }
      return hash;
    });
  }

  get(tenant: string, hash: string, range?: BlobRange): Promise<Uint8Array> {
    return this.#do(async () => {
      const path = this.#pathOf(tenant, hash);
      const { readFile, open } = await files();
      const found = await ifThere(async () => {
        if (range === undefined) return new Uint8Array(await readFile(path));
        const file = await open(path, 'r');
        try {
          const { offset = 0, length = (await file.stat()).size } = range;
          const part = new Uint8Array(Math.max(0, Math.min(length, (await file.stat()).size - offset)));
          await file.read(part, 0, part.length, offset);
          return part;
        } finally {
          await file.close();
        }
      });
      if (found !== undefined) return range === undefined ? requireHash(found, hash) : found;
      const compressed = await ifThere(() => readFile(path + compressedSuffix));
      if (compressed === undefined) throw new CairnError('BLOB_NOT_FOUND', { hash, store: this.name });
      return cutRange(requireHash(await decompress(compressed, hash), hash), range);
    });
  }

  async *stream(tenant: string, hash: string, range: BlobRange = {}): AsyncGenerator<Uint8Array> {
    const path = this.#pathOf(tenant, hash);
    const isStored = await this.has(tenant, hash);
    if (!isStored) throw new CairnError('BLOB_NOT_FOUND', { hash, store: this.name });
    const isPlain = await this.#do(async () => (await youngAt(path)) !== undefined);
    const pieces = isPlain ? createReader(path) : createUnpacker(path + compressedSuffix);
    const sizeMax = isPlain ? Infinity : await this.#do(() => unpackedSizeMax(path + compressedSuffix));
    const { offset = 0, length = Infinity } = range;
    const seen = process.getBuiltinModule('node:crypto').createHash('sha256');
    let at = 0;
    try {
      for await (const piece of pieces) {
        seen.update(piece);
        const part = piece.subarray(Math.max(0, offset - at), Math.max(0, offset + length - at));
        at += piece.length;
        if (at > sizeMax) throw new CairnError('BLOB_CORRUPT', { hash });
        if (part.length > 0) yield part;
        if (at >= offset + length) return;
      }
    } catch (error) {
      if (fileCode(error).startsWith('Z')) throw new CairnError('BLOB_CORRUPT', { hash }, { cause: error });
      throw fileFault(this.name, error);
    }
    if (seen.digest('hex') !== hash) throw new CairnError('BLOB_CORRUPT', { hash });
  }

  has(tenant: string, hash: string): Promise<boolean> {
    return this.#do(async () => {
      if (!isBlobHash(hash)) return false;
      const path = this.#pathOf(tenant, hash);
      return ((await youngAt(path)) ?? (await youngAt(path + compressedSuffix))) !== undefined;
    });
  }

  touch(tenant: string, hash: string): Promise<boolean> {
    return this.#do(async () => {
      if (!isBlobHash(hash)) return false;
      const path = this.#pathOf(tenant, hash);
      return (
        (await makeYoung(path, undefined, this.#now())) || makeYoung(path + compressedSuffix, undefined, this.#now())
      );
    });
  }

  sweep: BlobStore['sweep'] = (tenant, query = {}) =>
    this.#do(() => sweepFolder(this.#folderOf(tenant), compressedSuffix, this.#now(), query));

  remove(tenant: string, hash: string, olderThanMs: number): Promise<boolean> {
    return this.#do(async () => {
      const path = this.#pathOf(tenant, hash);
      const before = this.#now() - olderThanMs;
      const removed = [await removeOld(path, before), await removeOld(path + compressedSuffix, before)];
      return removed.includes(true);
    });
  }

  async #do<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw fileFault(this.name, error);
    }
  }
}

/** Compresses bytes; undefined if they are too few or would hardly become smaller. */
async function compress(bytes: Uint8Array): Promise<Uint8Array | undefined> {
  if (bytes.length < compressedFromBytes) return undefined;
  const compressed = process.getBuiltinModule('node:zlib').zstdCompressSync(bytes);
  const isReadable = bytes.length <= unpackedBytesMax(compressed.length);
  return isReadable && compressed.length <= bytes.length * worthRatio ? compressed : undefined;
}

/** Decompresses bytes. @throws BLOB_CORRUPT */
async function decompress(bytes: Uint8Array, hash: string): Promise<Uint8Array> {
  try {
    const limit = { maxOutputLength: unpackedBytesMax(bytes.length) };
    return new Uint8Array(process.getBuiltinModule('node:zlib').zstdDecompressSync(bytes, limit));
  } catch (error) {
    throw new CairnError('BLOB_CORRUPT', { hash }, { cause: error });
  }
}

async function unpackedSizeMax(path: string): Promise<number> {
  return unpackedBytesMax((await (await files()).stat(path)).size);
}

function createReader(path: string): AsyncIterable<Uint8Array> {
  return process.getBuiltinModule('node:fs').createReadStream(path);
}

/** Decompresses a file as a stream. Errors of the file reach the reader, and a reader that stops early closes the file. */
function createUnpacker(path: string): AsyncIterable<Uint8Array> {
  const { pipeline } = process.getBuiltinModule('node:stream');
  const { createZstdDecompress } = process.getBuiltinModule('node:zlib');
  const { createReadStream } = process.getBuiltinModule('node:fs');
  return pipeline(createReadStream(path), createZstdDecompress(), () => undefined);
}

/** Verifies the hash and returns the bytes. @throws BLOB_CORRUPT */
function requireHash(bytes: Uint8Array, hash: string): Uint8Array {
  if (hashBlob(bytes) !== hash) throw new CairnError('BLOB_CORRUPT', { hash });
  return bytes;
}

async function ifThere<Result>(read: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
