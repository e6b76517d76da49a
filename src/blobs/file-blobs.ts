/**
 * Stores blobs as files named by their hash, in one folder for each tenant. Large blobs are compressed if that makes them smaller, very
 * large ones in pieces, so that a part is read without the whole.
 */
import type * as FileCalls from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { BlobRow, BlobRange, BlobStore } from '../ports/blobs.ts';
import type { Page } from '../ports/store.ts';
import { isBlobHash, hashBlob, tenantFolder } from './blob-hash.ts';
import { CairnError, fileFault } from '../errors.ts';
import { asIs, asOne, decompress, forms, hashOfFile, pack, readStored, type StoredFile } from './file-forms.ts';

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

async function sweepFolder(
  folder: string,
  nowMs: number,
  { limit = pageSize, cursor = '' }: { readonly limit?: number; readonly cursor?: string },
): Promise<Page<BlobRow>> {
  const rows: BlobRow[] = [];
  for (const group of await listFolder(folder)) {
    if (group < cursor.slice(0, 2)) continue;
    for (const file of await listFolder(join(folder, group))) {
      const hash = hashOfFile(file);
      const path = join(folder, group, file);
      if (hash === undefined) await tidy(path, nowMs - abandonedMs);
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
      if ((await makeYoung(path, copy.length, this.#now())) || (await this.#keepAsOne(path, copy))) return hash;
      const packed = pack(copy);
      const { form, bytes: written } = packed ?? { form: asIs, bytes: copy };
      if (packed !== undefined && (await makeYoung(path + form, written.length, this.#now()))) return hash;
      await writeDurably(path + form, written, this.#now());
      // A file in another form is damaged, or it would have been kept. One that was cut short would be found first.
      const others = packed === undefined ? [] : forms.filter((other) => other !== form);
      for (const other of others) await (await files()).rm(path + other, { force: true });
      return hash;
    });
  }

  /** Whether these bytes are there compressed as one. If so, they are made young: they are not kept twice. */
  async #keepAsOne(path: string, bytes: Uint8Array): Promise<boolean> {
    const compressed = await ifThere(async () => (await files()).readFile(path + asOne));
    if (compressed === undefined) return false;
    try {
      if (Buffer.compare(decompress(compressed), bytes) !== 0) return false;
    } catch {
      return false;
    }
    return makeYoung(path + asOne, undefined, this.#now());
  }

  /** Opens a blob's file in the form that is there. @throws BLOB_NOT_FOUND */
  async #open(tenant: string, hash: string): Promise<StoredFile> {
    const path = this.#pathOf(tenant, hash);
    const { open } = await files();
    for (const form of forms) {
      const file = await ifThere(() => open(path + form, 'r'));
      if (file !== undefined) return { file, form, sizeBytes: (await file.stat()).size };
    }
    throw new CairnError('BLOB_NOT_FOUND', { hash, store: this.name });
  }

  async get(tenant: string, hash: string, range?: BlobRange): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#read(tenant, hash, range, true)) pieces.push(piece);
    return new Uint8Array(Buffer.concat(pieces));
  }

  stream(tenant: string, hash: string, range?: BlobRange): AsyncGenerator<Uint8Array> {
    return this.#read(tenant, hash, range, false);
  }

  /** @param atOnce - all bytes may come as one piece */
  async *#read(
    tenant: string,
    hash: string,
    range: BlobRange | undefined,
    atOnce: boolean,
  ): AsyncGenerator<Uint8Array> {
    const stored = await this.#do(() => this.#open(tenant, hash));
    try {
      yield* readStored(stored, hash, range ?? {}, atOnce);
    } catch (error) {
      throw fileFault(this.name, error);
    } finally {
      await stored.file.close();
    }
  }

  has(tenant: string, hash: string): Promise<boolean> {
    return this.#do(async () => {
      if (!isBlobHash(hash)) return false;
      for (const form of forms) if ((await youngAt(this.#pathOf(tenant, hash) + form)) !== undefined) return true;
      return false;
    });
  }

  touch(tenant: string, hash: string): Promise<boolean> {
    return this.#do(async () => {
      if (!isBlobHash(hash)) return false;
      for (const form of forms)
        if (await makeYoung(this.#pathOf(tenant, hash) + form, undefined, this.#now())) return true;
      return false;
    });
  }

  sweep: BlobStore['sweep'] = (tenant, query = {}) =>
    this.#do(() => sweepFolder(this.#folderOf(tenant), this.#now(), query));

  remove(tenant: string, hash: string, olderThanMs: number): Promise<boolean> {
    return this.#do(async () => {
      const before = this.#now() - olderThanMs;
      let isRemoved = false;
      for (const form of forms) isRemoved = (await removeOld(this.#pathOf(tenant, hash) + form, before)) || isRemoved;
      return isRemoved;
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

async function ifThere<Result>(read: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
