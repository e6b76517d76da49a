/** Restores a backup to a place where there is no store. Its unfinished runs are held until a person releases them. */
import { existsSync, constants } from 'node:fs';
import { chmod, copyFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CairnError } from '../../errors.ts';
import { holdAllRuns } from '../../history/retention/held-runs.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import { toListedRun, type ListedRun } from '../../history/read/list-runs.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { BackupFile, openSqliteStore, type BackupLabel } from '../../stores/sqlite/index.ts';
import { makeFolder } from '../open-store/make-folder.ts';
import { requireBackups } from '../open-store/store-kinds.ts';
import { parseStoreUrl } from '../open-store/store-url.ts';
import { blobsAt, type BlobsSetting } from '../open-store/open-blobs.ts';
import { findFaults } from './back-up.ts';
import { makeWhole, renameDurably } from './part-files.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

/** Options of a restore. */
export interface RestoreOptions {
  /** Where to put large values: a blob store, or a URL as for `openStore`. Default: beside the store. */
  readonly blobs?: BlobsSetting;
  /**
   * Whether to move an existing store aside, to `PATH.replaced`. No process may have it open. Default false: an existing store is an error.
   */
  readonly replace?: boolean;
  /**
   * Whether the backup is one's own. Default false: a text in it counts as a file's only if a file here contains the same, and is else
   * checked against the grants of the process that goes on with its run; its schedules start nothing.
   */
  readonly trust?: boolean;
}

/** Report of a restore. */
export interface RestoreReport {
  readonly store: string;
  /** When the backup was made, in epoch ms. Nothing that happened later is in it. */
  readonly madeAt: number;
  readonly blobs: number;
  /** Unfinished runs, which are held. Each has its tenant. */
  readonly held: readonly (ListedRun & { readonly tenant: string })[];
  /** Faults that the store had when it was backed up, one `CHECKPOINT CODE` per line. */
  readonly faults: readonly string[];
}

const optionNames = Object.keys({ blobs: true, replace: true, trust: true } satisfies Record<
  keyof RestoreOptions,
  true
>);

/**
 * Restores a backup. Everything is verified before the store gets its name, so an interrupted restore leaves no store.
 * @param file - a backup made by `backUp`
 * @param store - path or URL of the SQLite store to create
 * @throws CONFIG_INVALID there is a store already; STORE_CORRUPT the file is damaged or not a backup; STORE_BUSY the existing store is
 * open; STORE_*
 */
export async function restore(file: string, store: string, options: RestoreOptions = {}): Promise<RestoreReport> {
  refuseUnknownKeys('restore', options, optionNames);
  const place = requireBackups(parseStoreUrl(store, process.cwd()), 'restore');
  const { replace = false, trust = false } = options;
  const blobs = blobsAt(place, options.blobs);
  if (existsSync(place.path) && !replace)
    throw new CairnError('CONFIG_INVALID', {
      path: 'store',
      reason: `${place.path} is there already`,
      hint: 'Name another place, or have this one put aside: replace, on the command line --replace.',
    });
  if (!existsSync(file))
    throw new CairnError('STORE_UNAVAILABLE', {
      store: `backup:${file}`,
      reason: 'it is not there',
      hint: 'Name the file that the backup was written to.',
    });
  makeFolder(dirname(place.path), `sqlite:${place.path}`);
  return makeWhole(place.path, async (part) => {
    await copyFile(file, part, constants.COPYFILE_EXCL);
    await chmod(part, 0o600);
    const { label, count, tenants } = await takeApart(part, blobs);
    const held = await holdOpen(part, blobs, tenants, label, file);
    BackupFile.changeMetas(part, (meta) => markedMeta(meta, trust));
    if (existsSync(place.path)) await putAside(place.path);
    await renameDurably(part, place.path);
    return { store: `sqlite:${place.path}`, madeAt: label.madeAt, blobs: count, held, faults: label.faults };
  });
}

/** Says in a run's meta whether it is trusted, whatever the backup says of that. Undefined: it says nothing else than before. */
function markedMeta(meta: Uint8Array, isTrusted: boolean): Uint8Array | undefined {
  try {
    const { isRestored, ...rest } = metaOf({ key: '', meta });
    if (isTrusted === (isRestored === undefined)) return undefined;
    return Buffer.from(JSON.stringify(isTrusted ? rest : { ...rest, isRestored: true }));
  } catch {
    // Nobody finds the graph of a run by a meta that cannot be read.
    return undefined;
  }
}

async function takeApart(
  part: string,
  blobs: BlobStore,
): Promise<{ readonly label: BackupLabel; readonly count: number; readonly tenants: readonly string[] }> {
  const backup = new BackupFile(part, true);
  try {
    const label = backup.label();
    const rows = backup.blobs.rows();
    for (const { tenant, hash } of rows) {
      const bytes = await ifWhole(backup, tenant, hash);
      const stored = bytes && (await blobs.put({ tenant }, bytes));
      if (stored !== hash)
        throw new CairnError('STORE_CORRUPT', {
          store: backup.name,
          reason: `the large value ${hash} in it is damaged`,
        });
    }
    const tenants = backup.tenants();
    backup.unseal();
    return { label, count: rows.length, tenants };
  } finally {
    backup.close();
  }
}

async function ifWhole(backup: BackupFile, tenant: string, hash: string): Promise<Uint8Array | undefined> {
  try {
    return await backup.blobs.get(tenant, hash);
  } catch (error) {
    if (CairnError.is(error, 'BLOB_NOT_FOUND')) return undefined;
    throw error;
  }
}

/**
 * Verifies the restored store and holds its unfinished runs. @throws STORE_CORRUPT there is a fault that was not there when the backup was
 * made
 */
async function holdOpen(
  part: string,
  blobs: BlobStore,
  tenants: readonly string[],
  label: BackupLabel,
  file: string,
): Promise<RestoreReport['held']> {
  const store = openSqliteStore({ path: part });
  try {
    const known = new Set(label.faults);
    const damage = [...((await store.findDamage?.()) ?? [])];
    const held: RestoreReport['held'][number][] = [];
    for (const tenant of tenants) {
      damage.push(...(await findFaults(store, blobs, tenant)).filter((fault) => !known.has(fault)));
      if (damage.length > 0)
        throw new CairnError('STORE_CORRUPT', { store: `backup:${file}`, reason: damage.slice(0, 5).join('; ') });
      held.push(...(await holdRunsOf(store, tenant)));
    }
    return held;
  } finally {
    await store.close();
  }
}

async function holdRunsOf(store: Store, tenant: string): Promise<RestoreReport['held']> {
  const held: RestoreReport['held'][number][] = [];
  for (const { runId } of await holdAllRuns({ store, tenant })) {
    const run = await store.readRun({ tenant, runId });
    if (run !== undefined) held.push({ tenant, ...toListedRun(run, () => undefined) });
  }
  return held;
}

/** Moves the existing store aside. @throws STORE_BUSY it is open: its log would then be read into the store that replaces it */
async function putAside(path: string): Promise<void> {
  await openSqliteStore({ path }).close();
  if (existsSync(`${path}-wal`))
    throw new CairnError('STORE_BUSY', { store: `sqlite:${path}`, reason: 'others have it open' });
  await rename(path, `${path}.replaced`);
}
