/** Gives the write-ahead log its full size at once, so that syncing a commit need not extend the file. */

import { closeSync, openSync, statSync, writeSync } from 'node:fs';

/** 256 pages of 16 KiB: after as many, SQLite copies the log into the database and begins it anew. */
export const walBytes: number = 4 * 1024 * 1024;

/**
 * Appends zeros to the log up to its full size. SQLite reads the log up to the first frame whose checksum is wrong, which zeros are.
 *
 * Must be called inside a write transaction, while no other process can append. A log that cannot be grown is only slower.
 */
export function growWal(databasePath: string): void {
  const path = `${databasePath}-wal`;
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined || size >= walBytes) return;
  let file: number | undefined;
  try {
    file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(walBytes - size), 0, walBytes - size, size);
  } catch {
    // A full disk: the commit that follows will say so if it matters.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
