/** Statements prepared when first used, so that a command that reads one page pays for one statement. */

import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Values are bound by position and plain question marks: numbered ones are names to Node 22. */
export type Statement = () => StatementSync;
export type Prepare = (sql: string) => Statement;

export function createPrepare(db: DatabaseSync): Prepare {
  return (sql) => {
    let statement: StatementSync | undefined;
    return () => (statement ??= db.prepare(sql));
  };
}
