/**
 * Backs up a SQLite store: copies the database as it is at one moment, with the blobs that it refers to, into one file, while runs go on.
 */
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { CairnError } from '../../errors.ts';
import { readAllRuns } from '../../history/access/read-all.ts';
import { readNamedIfSound } from '../../history/retention/stored-texts.ts';
import { verifyRun } from '../../history/verify/verify.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { BackupFile, copyDatabase, openSqliteStore } from '../../stores/sqlite/index.ts';
import { requireBackups } from '../open-store/store-kinds.ts';
import { parseStoreUrl } from '../open-store/store-url.ts';
import { blobsAt, type BlobsSetting } from '../open-store/open-blobs.ts';
import { makeWhole, renameDurably } from './part-files.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

/** Options of a backup. */
export interface BackupOptions {
  /** Where the store's large values are: a blob store, or a URL as for `openStore`. Default: beside the store. */
  readonly blobs?: BlobsSetting;
  /** How many backups to keep. The previous one is renamed to FILE.1, and so on. Default 1: it is replaced. */
  readonly keep?: number;
}

/** Report of a backup. */
export interface BackupReport {
  readonly file: string;
  readonly runs: number;
  readonly blobs: number;
  /** Faults that the store had already, one `CHECKPOINT CODE` per line; empty if there were none. The backup holds what could be read. */
  readonly faults: readonly string[];
}

const optionNames = Object.keys({ blobs: true, keep: true } satisfies Record<keyof BackupOptions, true>);

/** If a blob is collected while it is being copied, the copy starts again with the store's new state. */
const attempts = 3;

/**
 * Makes a backup.
 * @param store - path or URL of a SQLite store
 * @param file - path of the backup, readable by its owner only. It gets its name when it is complete and durable. An existing backup of
 * this name is replaced; any other file is refused
 * @throws CONFIG_INVALID the store is not a SQLite store, or the file is something else; STORE_*
 */
export async function backUp(store: string, file: string, options: BackupOptions = {}): Promise<BackupReport> {
  refuseUnknownKeys('backUp', options, optionNames);
  const place = requireBackups(parseStoreUrl(store, process.cwd()), 'backUp');
  if (!existsSync(place.path))
    throw new CairnError('STORE_UNAVAILABLE', {
      store: `sqlite:${place.path}`,
      reason: 'it is not there',
      hint: 'Name the store that is to be backed up; on the command line with --store.',
    });
  requireReplaceable(file);
  const { keep = 1 } = options;
  const blobs = blobsAt(place, options.blobs);
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

/** Refuses to replace a file that is not a backup, so that a mistyped name cannot destroy a store. @throws CONFIG_INVALID */
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
        for (const hash of await readNamedIfSound(store, run)) named.add(hash);
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

/**
 * Copies a blob if there is one with this hash; not every hash is that of a blob. A blob that is damaged or was just removed is reported by
 * the verification.
 */
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

/** Faults in a tenant's histories, as `CHECKPOINT CODE`. */
export async function findFaults(store: Store, blobs: BlobStore, tenant: string): Promise<readonly string[]> {
  const faults: string[] = [];
  for await (const run of readAllRuns({ store, tenant }))
    for (const { checkpoint, code } of (await verifyRun(store, blobs, run)).faults)
      faults.push(`${checkpoint} ${code}`);
  return faults;
}

/**
 * Renames older backups: FILE.1 is the previous one, FILE.2 the one before that. The oldest are moved first, so an interruption never
 * leads to fewer than `keep`.
 */
async function makeRoom(file: string, keep: number): Promise<void> {
  for (let no = keep - 1; no >= 1; no -= 1) {
    const from = no === 1 ? file : `${file}.${no - 1}`;
    if (existsSync(from)) await rename(from, `${file}.${no}`);
  }
}
