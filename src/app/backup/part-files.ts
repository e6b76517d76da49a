/** Writes files that get their name only when they are complete. Partial files of killed processes are removed by the next one. */
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileFault } from '../../errors.ts';
import { isPidInUse } from '../process/process-ids.ts';

const besides = ['', '-wal', '-shm', '-journal'];

/** Removes partial files of processes that are gone. */
async function clearParts(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder).catch(() => [])) {
    const [, pid] = name.startsWith(`${basename(path)}.`) ? (/\.(\d+)\.part(?:-\w+)?$/.exec(name) ?? []) : [];
    if (pid !== undefined && (Number(pid) === process.pid || !isPidInUse(Number(pid))))
      await rm(join(folder, name), { force: true });
  }
}

async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Renames a finished file durably. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await syncPath(from);
  await rename(from, to);
  await syncPath(dirname(to));
}

/**
 * Has `make` write a file under a temporary name in the same folder, then gives it its name. @throws STORE_FULL, STORE_READ_ONLY,
 * STORE_UNAVAILABLE
 */
export async function makeWhole<Result>(path: string, make: (part: string) => Promise<Result>): Promise<Result> {
  const part = `${path}.${process.pid}.part`;
  try {
    await clearParts(path);
    return await make(part);
  } catch (error) {
    throw mapped(error, path);
  } finally {
    for (const suffix of besides) await rm(part + suffix, { force: true });
  }
}

function mapped(error: unknown, store: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  return fileFault(store, error);
}
