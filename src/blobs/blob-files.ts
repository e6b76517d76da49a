/** File operations of the blob store. A file is complete and durable before it has its name. */

import type * as FileCalls from 'node:fs/promises';
import { dirname } from 'node:path';

/** Loaded on first use, so that programs that never need it start faster. */
export const files = (): Promise<typeof FileCalls> => import('node:fs/promises');

/** Counter that tells this process's partial files apart. */
let parts = 0;

/** Writes a temporary file, syncs it, renames it, and syncs the folders. So a file with this name is always complete. */
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
 * Whether there is a file of this size (of any size if none is given). If so, its age is reset, so that a clean-up spares it for whoever
 * has just put it.
 */
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

/** When a file was put or touched last, in epoch ms; undefined if it does not exist. */
export async function youngAt(path: string): Promise<number | undefined> {
  try {
    return (await (await files()).stat(path)).mtimeMs;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Suffix of a file that is being removed. */
export const goneSuffix = '.gone';

/**
 * Removes a file unless it was put or touched since `before`. The file is first renamed and then checked again. Whoever puts the same bytes
 * meanwhile either finds no file and writes a new one, or has touched it, and then it is renamed back.
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

/** The sorted names in a folder; empty if it does not exist. */
export async function listFolder(path: string): Promise<string[]> {
  try {
    return (await (await files()).readdir(path)).sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** The code of a file system error. */
export function fileCode(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

export function isMissing(error: unknown): boolean {
  return fileCode(error) === 'ENOENT' || fileCode(error) === 'ENOTDIR';
}
