/** What is said between a block and the process that uses SQLite for it. */
import type { SQLInputValue } from 'node:sqlite';
import type { BoundStatement } from './bind-params.ts';
import type { SqlFailureFacts, SqlJob, SqlResult } from './sql-job.ts';

export interface SqlitePlace {
  /** Absolute, or `:memory:`. */
  readonly path: string;
  readonly pragmas: Readonly<Record<string, string | number | boolean>>;
}

/** A statement whose values are such as SQLite takes. */
export interface SqliteStatement extends BoundStatement {
  readonly values: readonly SQLInputValue[];
}

/** The work, as plain data. */
export interface SqliteJob extends Pick<SqlJob, 'isReadOnly' | 'isAlone' | 'timeoutMs'> {
  readonly first: readonly SqliteStatement[];
  readonly statements: readonly SqliteStatement[];
}

export type ToChild =
  | { readonly kind: 'job'; readonly place: SqlitePlace; readonly job: SqliteJob }
  /** All went well so far, and nothing of it is kept before this is said. */
  | { readonly kind: 'commit' };

export interface SqliteFailure extends SqlFailureFacts {
  readonly reason: string;
}

export type FromChild =
  /** It has started, and takes jobs. */
  | { readonly kind: 'up' }
  /** It has what locks it needs; what runs now may take any time. */
  | { readonly kind: 'begun' }
  /** It waits to be told to commit. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'result'; readonly result: SqlResult }
  | { readonly kind: 'failure'; readonly failure: SqliteFailure };
