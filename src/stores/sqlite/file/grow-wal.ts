/** Grows the write-ahead log to its full size at once, so that syncing a commit need not extend the file. */

import { closeSync, openSync, statSync, writeSync } from 'node:fs';

/** 256 pages of 16 KiB, after which SQLite copies the log into the database and starts it again. */
export const walBytes: number = 4 * 1024 * 1024;

/**
 * Appends zeros to the log up to its full size. SQLite reads the log up to the first frame with a wrong checksum, which zeros have.
 *
 * Must be called inside of a write transaction, while no other process can append. A log that cannot be grown is only slower.
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
    // The disk is full. If that matters, the next commit reports it.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
