/** Whether the file is whole: at once by its size, and page by page when asked to look at all of it. */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { CairnError } from '../../../errors.ts';

const fileHeaderBytes = 32;
const frameHeaderBytes = 24;

/** As many faults as are told. */
const shownFaults = 20;

/**
 * Compares the size of the file with the number of pages the database has. A page that is not in the file yet must be in the log: the last
 * commits before a kill are there and nowhere else, and so is what a copy of the log into the file, cut short, had not come to.
 *
 * SQLite reads what is missing of a last page as zeros, and rows are gone without a word.
 *
 * @throws STORE_CORRUPT the file was cut
 */
export function requireWhole(db: DatabaseSync, path: string, store: string): void {
  // In a read transaction nothing that it sees leaves the log before it is in the file.
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

/** The pages that the log holds. Frames of an earlier use of the log carry other salts. See https://www.sqlite.org/fileformat.html#walformat */
function listLoggedPages(path: string, pageBytes: number): ReadonlySet<number> {
  const pages = new Set<number>();
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < fileHeaderBytes) return pages;
  // The log and not the database: closing that would drop the locks that this process holds on it.
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

/** Looks at every page, and for histories without a run; what is wrong, a line each. */
export function findDamage(db: DatabaseSync): readonly string[] {
  const rows = db.prepare(`pragma quick_check(${shownFaults})`).all();
  return [...rows.map((row) => String(Object.values(row)[0])).filter((line) => line !== 'ok'), ...findLostRuns(db)];
}

/** The id of a run is in its row alone: where that is gone the run is not found, though its checkpoints are there. */
function findLostRuns(db: DatabaseSync): readonly string[] {
  const lost = db.prepare(
    `select run, count(*) as count from checkpoints where run not in (select no from runs) group by run limit ${shownFaults}`,
  );
  return lost
    .all()
    .map(({ run, count }) => `${Number(count)} checkpoints are there of run number ${Number(run)}, whose row is gone`);
}
