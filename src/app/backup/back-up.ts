/** Copies a SQLite store, as it is at one moment, into one file with the blobs that it names, while runs go on. */
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { createFileBlobs } from '../../blobs/file-blobs.ts';
import { CairnError } from '../../errors.ts';
import { readAllRuns } from '../../history/place/all-rows.ts';
import { addNamed } from '../../history/shorten/collect-blobs.ts';
import { verifyRun } from '../../history/verify/verify.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { BackupFile, copyDatabase, openSqliteStore } from '../../stores/sqlite/index.ts';
import { parseStoreUrl } from '../place/store-url.ts';
import { makeWhole, renameDurably } from './part-files.ts';

/** What is backed up, and how. */
export interface BackupOptions {
  /** Where the store's large values are. Default: beside it. */
  readonly blobs?: BlobStore;
  /** Keeps so many backups: the one before is then FILE.1, and so on. Default 1: it is replaced. */
  readonly keep?: number;
}

/** What a backup holds. */
export interface BackupReport {
  readonly file: string;
  readonly runs: number;
  readonly blobs: number;
  /** What was wrong with the store already, `CHECKPOINT CODE` a line: the backup holds what could be read. Empty: it is sound. */
  readonly faults: readonly string[];
}

/** A blob that is collected while it is copied makes the copy begin anew, as it is then. */
const attempts = 3;

/**
 * @param store - the path or URL of a SQLite store
 * @param file - for the owner's eyes only; it has its name when it is whole and durable. A backup of that name is replaced, anything else refused
 * @throws CONFIG_INVALID it is no SQLite store, or the file is something else; STORE_*
 */
export async function backUp(store: string, file: string, options: BackupOptions = {}): Promise<BackupReport> {
  const place = parseStoreUrl(store, process.cwd());
  if (place.kind !== 'sqlite')
    throw new CairnError('CONFIG_INVALID', { path: 'store', reason: 'only a SQLite store can be backed up' });
  if (!existsSync(place.path))
    throw new CairnError('STORE_UNAVAILABLE', { store: `sqlite:${place.path}`, reason: 'it is not there' });
  requireReplaceable(file);
  const { blobs = createFileBlobs(place.blobs), keep = 1 } = options;
  return makeWhole(file, async (part) => {
    let report = await copy(place.path, part, blobs);
    for (let attempt = 1; attempt < attempts && report.faults.some(isMissingBlob); attempt += 1) {
      await rm(part, { force: true });
      report = await copy(place.path, part, blobs);
    }
    await makeRoom(file, keep);
    await renameDurably(part, file);
    return { file, ...report };
  });
}

const isMissingBlob = (fault: string): boolean => fault.endsWith(' BLOB_NOT_FOUND');

/** @throws CONFIG_INVALID a mistyped name must not cost a store */
function requireReplaceable(file: string): void {
  if (!existsSync(file)) return;
  try {
    new BackupFile(file, true).close();
  } catch (error) {
    throw new CairnError(
      'CONFIG_INVALID',
      { path: 'file', reason: `${file} is there and is no backup` },
      { cause: error },
    );
  }
}

async function copy(path: string, part: string, blobs: BlobStore): Promise<Omit<BackupReport, 'file'>> {
  const madeAt = Date.now();
  await copyDatabase(path, part);
  const backup = new BackupFile(part, false);
  const store = openSqliteStore({ path: part, readOnly: true });
  try {
    const counts = { runs: 0, blobs: 0 };
    const faults = new Set<string>();
    for (const tenant of backup.tenants()) {
      const named = new Set<string>();
      for await (const run of readAllRuns({ store, tenant })) {
        counts.runs += 1;
        await addNamed(store, run, named);
      }
      for (const hash of named) counts.blobs += await addBlob(backup, blobs, tenant, hash);
      for (const fault of await findFaults(store, backup.blobs, tenant)) faults.add(fault);
    }
    await store.close();
    backup.seal({ madeAt, faults: [...faults] });
    return { ...counts, faults: [...faults] };
  } finally {
    await store.close();
    backup.close();
  }
}

/** Not every hash is that of a blob; one that is damaged or has just gone shows in what is verified. */
async function addBlob(backup: BackupFile, blobs: BlobStore, tenant: string, hash: string): Promise<0 | 1> {
  if (!(await blobs.has(tenant, hash))) return 0;
  try {
    await backup.blobs.add(tenant, hash, blobs.stream(tenant, hash));
    return 1;
  } catch (error) {
    if (CairnError.is(error, 'BLOB_NOT_FOUND', 'BLOB_CORRUPT')) return 0;
    throw error;
  }
}

/** What is wrong with the histories of a tenant: `CHECKPOINT CODE`. */
export async function findFaults(store: Store, blobs: BlobStore, tenant: string): Promise<readonly string[]> {
  const faults: string[] = [];
  for await (const run of readAllRuns({ store, tenant }))
    for (const { checkpoint, code } of (await verifyRun(store, blobs, run)).faults)
      faults.push(`${checkpoint} ${code}`);
  return faults;
}

/** FILE.1 is the one before, FILE.2 the one before that; the oldest go first, so a cut leaves none fewer than are kept. */
async function makeRoom(file: string, keep: number): Promise<void> {
  for (let no = keep - 1; no >= 1; no -= 1) {
    const from = no === 1 ? file : `${file}.${no - 1}`;
    if (existsSync(from)) await rename(from, `${file}.${no}`);
  }
}
