/** Examines the machine and the store's files for `doctor`. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DoctorContext } from '../../operations/store/examine-store.ts';
import { formatSize } from '../../operations/format/size.ts';
import type { Finding } from '../../history/verify/examine-runs.ts';
import { defaultTenant } from '../config/default-tenant.ts';
import { blobsOf } from './open-blobs.ts';
import { choosePlaces, type StoreChoice } from './open-reading.ts';
import { isWorkerDead } from '../process/process-ids.ts';
import { kindOf, type StorePlace } from './store-kinds.ts';
import { readVersion } from '../version.ts';

/** Warn if less disk space than this is free. */
const lowBytes = 512 * 1024 * 1024;

function examineVersions(): Finding {
  const { node, sqlite = 'missing' } = process.versions as { node: string; sqlite?: string };
  return { name: 'versions', verdict: 'ok', detail: `cairn ${readVersion()}, Node ${node}, SQLite ${sqlite}` };
}

/** Checks that other users of this machine cannot read the store. On Windows permissions work differently. */
function examinePermissions(path: string): Finding {
  const mode = statSync(path).mode & 0o777;
  const text = mode.toString(8).padStart(4, '0');
  if (process.platform === 'win32' || (mode & 0o077) === 0)
    return { name: 'permissions', verdict: 'ok', detail: `${path} is ${text}` };
  const wanted = statSync(path).isDirectory() ? '700' : '600';
  return {
    name: 'permissions',
    verdict: 'warning',
    detail: `others may read ${path}: it is ${text}`,
    fix: `chmod ${wanted} ${path}`,
  };
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function examineWriting(path: string): Finding {
  if (isWritable(path) && isWritable(dirname(path)))
    return { name: 'writing', verdict: 'ok', detail: `${path} can be written to` };
  return {
    name: 'writing',
    verdict: 'bad',
    detail: `${path} or its folder cannot be written to`,
    fix: 'mend the permissions',
    code: 'STORE_READ_ONLY',
  };
}

function examineRoom(folder: string): Finding {
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  const detail = `${formatSize(freeBytes)} free`;
  if (freeBytes >= lowBytes) return { name: 'disk', verdict: 'ok', detail };
  return { name: 'disk', verdict: 'warning', detail, fix: 'free some disk space: a full disk stops every run' };
}

function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path));
}

function examineFiles(place: StorePlace): readonly Finding[] {
  if (place.kind === 'file') {
    if (!existsSync(place.path)) return [examineRoom(nearestFolder(place.path))];
    return [examinePermissions(place.path), examineWriting(place.path), examineRoom(place.path)];
  }
  if (place.kind !== 'sqlite') return [];
  const folder = nearestFolder(dirname(place.path));
  if (!existsSync(place.path)) return [examineRoom(folder)];
  const log = `${place.path}-wal`;
  const size = statSync(place.path).size + (existsSync(log) ? statSync(log).size : 0);
  const paths = [place.path, ...(existsSync(place.blobs) ? [place.blobs] : [])];
  return [
    { name: 'file', verdict: 'ok', detail: `${place.path}, ${formatSize(size)}` },
    ...paths.map(examinePermissions),
    examineWriting(place.path),
    examineRoom(folder),
  ];
}

/** Prepares an examination. @throws CONFIG_INVALID the URL, the configuration */
export async function openDoctor(choice: StoreChoice): Promise<DoctorContext> {
  const { place, blobsUrl } = await choosePlaces(choice);
  return {
    tenant: defaultTenant,
    isWorkerDead,
    now: Date.now,
    examinePlace: () => Promise.resolve([examineVersions(), ...examineFiles(place)]),
    openStore: async () => {
      const store = await kindOf(place).openToRead(place);
      if (store === undefined) return undefined;
      return { store, blobs: blobsOf(store, blobsUrl) };
    },
  };
}
