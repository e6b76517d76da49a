/** Detects damage of the database file: quickly by its size, and page by page on request. */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { CairnError } from '../../../errors.ts';

const fileHeaderBytes = 32;
const frameHeaderBytes = 24;

/** The most faults that are reported. */
const shownFaults = 20;

/**
 * Compares the file's size with the database's number of pages. A page that is missing from the file must be in the log: the last commits
 * before a kill are only there, and also pages that an interrupted copy of the log had not reached.
 *
 * This check is needed because SQLite reads missing parts of a last page as zeros, so that rows would disappear silently.
 *
 * @throws STORE_CORRUPT the file was cut
 */
export function requireWhole(db: DatabaseSync, path: string, store: string): void {
  // During a read transaction, no page that it sees leaves the log before it is in the file.
  db.exec('begin');
  try {
    const pages = readCount(db, 'page_count');
    const pageBytes = readCount(db, 'page_size');
    const { size } = statSync(path);
    if (size >= pages * pageBytes) return;
    const first = Math.floor(size / pageBytes) + 1;
    const logged = listLoggedPages(`${path}-wal`, pageBytes);
    const missing = Array.from({ length: pages - first + 1 }, (_, index) => first + index);
    const lost = missing.filter((page) => !logged.has(page));
    if (lost.length === 0) return;
    const reason = `its file was cut: it has ${size} bytes where ${pages * pageBytes} belong`;
    throw new CairnError('STORE_CORRUPT', { store, reason });
  } finally {
    db.exec('rollback');
  }
}

function readCount(db: DatabaseSync, pragma: string): number {
  return Number(Object.values(db.prepare(`pragma ${pragma}`).get() ?? {})[0]);
}

/** The pages in the log. Frames of an earlier use of the log have other salts. See https://www.sqlite.org/fileformat.html#walformat */
function listLoggedPages(path: string, pageBytes: number): ReadonlySet<number> {
  const pages = new Set<number>();
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < fileHeaderBytes) return pages;
  // Open the log, not the database: closing a database file would drop the locks that this process holds on it.
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(fileHeaderBytes);
    readSync(file, header, 0, fileHeaderBytes, 0);
    const frame = Buffer.alloc(frameHeaderBytes);
    for (let at = fileHeaderBytes; at + frameHeaderBytes + pageBytes <= size; at += frameHeaderBytes + pageBytes) {
      readSync(file, frame, 0, frameHeaderBytes, at);
      if (header.compare(frame, 8, 16, 16, 24) !== 0) break;
      pages.add(frame.readUInt32BE(0));
    }
    return pages;
  } finally {
    closeSync(file);
  }
}

/** Checks every page, and searches for histories without a run. Returns one line for each fault. */
export function findDamage(db: DatabaseSync): readonly string[] {
  const rows = db.prepare(`pragma quick_check(${shownFaults})`).all();
  return [...rows.map((row) => String(Object.values(row)[0])).filter((line) => line !== 'ok'), ...findLostRuns(db)];
}

/**
 * Finds checkpoints whose run is lost. A run's id is only in its row; without it, the run cannot be found although its checkpoints are
 * there.
 */
function findLostRuns(db: DatabaseSync): readonly string[] {
  const lost = db.prepare(
    `select run, count(*) as count from checkpoints where run not in (select no from runs) group by run limit ${shownFaults}`,
  );
  return lost
    .all()
    .map(({ run, count }) => `${Number(count)} checkpoints are there of run number ${Number(run)}, whose row is gone`);
}
