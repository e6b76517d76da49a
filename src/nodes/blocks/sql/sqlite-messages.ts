/** Messages between a block and the child process that uses SQLite for it. */
import type { SQLInputValue } from 'node:sqlite';
import type { BoundStatement } from './bind-params.ts';
import type { SqlFailureFacts, SqlJob, SqlResult } from './sql-job.ts';

export interface SqlitePlace {
  /** Absolute path, or `:memory:`. */
  readonly path: string;
  /** The file that the path led to when it was judged. Absent: there was none, or it is `:memory:`. */
  readonly file?: { readonly dev: bigint; readonly ino: bigint };
  readonly pragmas: Readonly<Record<string, string | number | boolean>>;
}

/** A statement with values of types that SQLite accepts. */
export interface SqliteStatement extends BoundStatement {
  readonly values: readonly SQLInputValue[];
}

/** The job as plain data. */
export interface SqliteJob extends Pick<SqlJob, 'isReadOnly' | 'isAlone' | 'timeoutMs'> {
  readonly first: readonly SqliteStatement[];
  readonly statements: readonly SqliteStatement[];
}

export type ToChild =
  | { readonly kind: 'job'; readonly place: SqlitePlace; readonly job: SqliteJob }
  /** The parent allows the commit. Nothing is kept before that. */
  | { readonly kind: 'commit' };

export interface SqliteFailure extends SqlFailureFacts {
  readonly reason: string;
}

export type FromChild =
  /** The process has started and accepts jobs. */
  | { readonly kind: 'up' }
  /** The process has the locks it needs; from now on, running the statements may take any time. */
  | { readonly kind: 'begun' }
  /** The process waits for permission to commit. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'result'; readonly result: SqlResult }
  | { readonly kind: 'failure'; readonly failure: SqliteFailure };
