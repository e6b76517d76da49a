/** The files of a blob store: whole once they have their name, and durable before anybody is told. */

import type * as FileCalls from 'node:fs/promises';
import { dirname } from 'node:path';

/** Loaded when first needed: programs that never use it start sooner. */
export const files = (): Promise<typeof FileCalls> => import('node:fs/promises');

/** Tells the half-written files of this process apart. */
let parts = 0;

/** Writes beside the place, syncs, renames, and syncs the folders: a file of its name is whole. */
export async function writeDurably(path: string, bytes: Uint8Array, nowMs: number): Promise<void> {
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
    if (!['EISDIR', 'EINVAL', 'EPERM', 'EACCES', 'ENOTSUP'].includes(fileCode(error))) throw error;
  } finally {
    await folder?.close();
  }
}

/** Whether a file of this size, or of any if none is given, is there. If so its age begins anew, so that a collector spares it for who put it just now. */
export async function makeYoung(path: string, sizeBytes: number | undefined, nowMs: number): Promise<boolean> {
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

/** When a file was made young last, epoch ms; undefined: it is not there. */
export async function youngAt(path: string): Promise<number | undefined> {
  try {
    return (await (await files()).stat(path)).mtimeMs;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The suffix of a file that is being removed. */
export const goneSuffix = '.gone';

/**
 * Removes a file that was not made young since. It is put aside first and looked at again: whoever puts the same bytes meanwhile either finds
 * nothing and writes anew, or has made it young, and it is put back.
 */
export async function removeOld(path: string, before: number): Promise<boolean> {
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

/** The names in a folder, in order; none if it is not there. */
export async function listFolder(path: string): Promise<string[]> {
  try {
    return (await (await files()).readdir(path)).sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** The code of an error of the file system. */
export function fileCode(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

export function isMissing(error: unknown): boolean {
  return fileCode(error) === 'ENOENT' || fileCode(error) === 'ENOTDIR';
}
