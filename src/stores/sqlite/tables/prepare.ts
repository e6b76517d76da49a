/** Statements prepared when first used, so that a command that reads one page pays for one statement. */

import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Values are bound by position and plain question marks: numbered ones are names to Node 22. */
export type Statement = () => StatementSync;
/** With `shape` the rows are arrays, which are made in half the time. */
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
