/** Prepares statements on first use, so that a command that reads one page prepares only one statement. */

import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** A prepared statement. Values are bound by position to plain question marks, because Node 22 treats numbered ones as names. */
export type Statement = () => StatementSync;
/** Prepares a statement. With `shape` its rows are arrays, which take half the time. */
export type Prepare = (sql: string, shape?: 'arrays') => Statement;

export function createPrepare(db: DatabaseSync): Prepare {
  return (sql, shape) => {
    let statement: StatementSync | undefined;
    return () => {
      if (statement === undefined) {
        statement = db.prepare(sql);
        if (shape === 'arrays') statement.setReturnArrays(true);
      }
      return statement;
    };
  };
}
