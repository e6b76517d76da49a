/** Converts SQLite's errors to errors of the store port. */

import { CairnError, type ErrorCode } from '../../errors.ts';

/** Primary result codes, which are the low byte of extended ones. See https://www.sqlite.org/rescode.html */
const codes: Readonly<Record<number, ErrorCode>> = {
  1: 'STORE_CORRUPT', // ERROR: our statements are right, so a table or a column is missing.
  5: 'STORE_BUSY',
  6: 'STORE_BUSY', // LOCKED
  8: 'STORE_READ_ONLY',
  10: 'STORE_UNAVAILABLE', // IOERR
  11: 'STORE_CORRUPT',
  13: 'STORE_FULL',
  14: 'STORE_UNAVAILABLE', // CANTOPEN
  18: 'STORE_FULL', // TOOBIG: over a billion bytes in one row.
  26: 'STORE_CORRUPT', // NOTADB
};

/** The primary result code; undefined if the error is not from SQLite. */
function readResultCode(error: unknown): number | undefined {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  return code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number' ? errcode & 0xff : undefined;
}

/** An error like SQLite's own for a damaged database. Unlike a refusal, it ends the whole transaction. */
export function corruptError(reason: string): Error {
  return Object.assign(new Error(reason), { code: 'ERR_SQLITE_ERROR', errcode: 11 });
}

export function isBusy(error: unknown): boolean {
  const code = readResultCode(error);
  return code === 5 || code === 6;
}

/** Whether a reader could not create the log's files beside the database: CANTOPEN, or READONLY if the database itself is writable. */
export function isLogRefused(error: unknown): boolean {
  const code = readResultCode(error);
  return code === 14 || code === 8;
}

/** Whether the values of one job caused the error, and not the state of the store: CONSTRAINT, TOOBIG, or a value that cannot be bound. */
export function isJobsOwnFault(error: unknown): boolean {
  const code = readResultCode(error);
  return code === undefined || code === 18 || code === 19;
}

/** Maps an error: those of the port stay, those of SQLite get a code, and programming errors are passed on. */
export function mapSqliteError(error: unknown, store: string): unknown {
  const result = readResultCode(error);
  if (result === undefined) return error;
  return new CairnError(
    codes[result] ?? 'STORE_UNAVAILABLE',
    { store, reason: (error as Error).message },
    { cause: error },
  );
}
